"""Cross-fitting over shards gives the states and the columns of the samples in memory."""

import pickle
from dataclasses import fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

from ltr import feature, read_groups, temporary
from ltr.encoders import ENCODERS, HashEncoder
from ltr.errors import DataError, DiskError, FileError, UsageError
from ltr.features import FEATURES, Counted, CrossFitting, FeatureConfig, Optimised, Presets, crossfit, fit_features
from ltr.samples import sample_shards
from ltr.tables import digests, table
from tests.builders import LetterEncoder, graph_lines, tool_lines, write_lines

LINES = {"tool": tool_lines, "graph": graph_lines}


@pytest.fixture
def register():
    """Registers a feature or an encoder for the time of a test."""
    names = []

    def add(name, kind=None, column=None, **options):
        if kind is not None:
            ENCODERS.add(name, kind)
            names.append((ENCODERS, name))
            return
        own = column or (lambda candidates, state, context: np.full(len(candidates.names), state["n"]))
        feature(name, "hist", **options)(own)
        names.append((FEATURES, name))

    yield add
    for registry, name in names:
        registry._own.pop(name)


def plain(value):
    """A state as nested lists and dicts."""
    if isinstance(value, np.ndarray):
        return value.astype(float).tolist() if value.dtype.kind in "fiu" else value.tolist()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return {key: plain(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def assert_alike(left, right):
    """Texts and counts are equal, floats but for the last digits of sums, half precision to its own."""
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            assert_alike(left[key], right[key])
    elif isinstance(left, list) and left and isinstance(left[0], float):
        np.testing.assert_allclose(left, right, rtol=1e-3, atol=1e-9)
    elif isinstance(left, float):
        assert left == pytest.approx(right, rel=1e-9)
    else:
        assert left == right


def by_row(groups, phi):
    """The columns by trace, node and name."""
    candidates = groups.candidates
    owner = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    return {
        (
            candidates.trace_ids[candidates.traces[group]],
            candidates.node_ids[group],
            candidates.name_texts[candidates.names[row]],
        ): phi[row]
        for row, group in enumerate(owner.tolist())
    }


def over_shards(path, configs, encoder, rows):
    """The columns of each row, and the features."""
    with sample_shards(path, rows=rows) as shards:
        assert len(shards) > 2
        crossfit = CrossFitting(configs, shards, encoder).stored(path.parent)
        columns = {key: row for part in shards for key, row in by_row(part, crossfit.phi(part)).items()}
    return columns, crossfit.features


def both(path, configs, encoder, rows):
    """The same in memory, and over shards."""
    groups = read_groups(path)
    fitted, phi = fit_features(configs, groups, encoder)
    return (by_row(groups, phi), fitted), over_shards(path, configs, encoder, rows)


def assert_equal_fits(one, other, *, within=1e-12, rounded=()):
    """Both say the same; the columns that are rounded, to three digits."""
    (columns, fitted), (sharded, features) = one, other
    assert columns.keys() == sharded.keys()
    found, expected = (np.array([of[key] for key in columns]) for of in (sharded, columns))
    is_rounded = np.isin(fitted.names, rounded)
    for chosen, close in ((is_rounded, 1e-3), (~is_rounded, within)):
        np.testing.assert_allclose(found[:, chosen], expected[:, chosen], rtol=close, atol=close)
    assert features.encoder.revision == fitted.encoder.revision
    for one, other in zip(fitted.states, features.states, strict=True):
        assert_alike(plain(one), plain(other))


@pytest.mark.parametrize(
    "kind, traces, encoder, order",
    [
        ("tool", 24, "hash", "together"),
        ("tool", 9, "letters", "interleaved"),  # a fold for each trace
        ("graph", 24, "letters", "together"),
        ("graph", 24, "hash", "interleaved"),
    ],
)
def test_columns_and_states_are_those_of_the_samples_in_memory(tmp_path, register, kind, traces, encoder, order):
    register("letters", LetterEncoder)
    lines = list(LINES[kind](traces=traces))
    if order == "interleaved":
        lines = [lines[place] for place in np.random.default_rng(0).permutation(len(lines))]
    path = write_lines(tmp_path / "samples.jsonl", lines)
    names = dict.fromkeys((*Presets.SPECIFICATION[kind], *Presets.ALL[kind]))
    configs = [FeatureConfig(name) for name in names]
    # prototypes lie in half precision: a sum that differs in the last digit may round to the next number
    rounded = [name for name in names if name.split(".")[1] in ("proto", "ridge", "clause", "clauses")]
    assert_equal_fits(*both(path, configs, encoder, 35), rounded=rounded)


def test_without_what_learns_nothing_is_counted(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    assert_equal_fits(*both(path, [FeatureConfig("tool.rel"), FeatureConfig("tool.coop")], "hash", 35))


def test_of_a_single_trace_nothing_is_learned(tmp_path):
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=1, groups=9))
    groups = read_groups(path)
    configs = [FeatureConfig("tool.hist"), FeatureConfig("tool.lift")]
    _, phi = fit_features(configs, groups, "hash")
    empty = groups.select(np.empty(0, dtype=np.int64))
    crossfit = CrossFitting(configs, [groups, empty], "hash").stored(tmp_path)
    np.testing.assert_array_equal(crossfit.phi(groups), phi)


def test_an_optimised_feature_sees_all_shards_but_for_the_fold_again_and_again(tmp_path, register):
    def state(shards, context):
        counts = [sum(float(shard.groups.labels.sum()) for shard in shards) for _ in range(3)]
        assert len(set(counts)) == 1
        return {"n": counts[0]}

    register("tool.sum", fit=Optimised(state))
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    assert_equal_fits(*both(path, [FeatureConfig("tool.sum"), FeatureConfig("tool.hist")], "hash", 35))


def test_a_merge_of_its_own_is_used(tmp_path, register):
    def count(groups, context):
        return frozenset(groups.candidates.query_texts)

    register("tool.queries", fit=Counted(count, lambda part: {"n": float(len(part))}, lambda a, b: a | b))
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    assert_equal_fits(*both(path, [FeatureConfig("tool.queries")], "hash", 35))


def test_a_plain_fit_is_refused_by_name(tmp_path, register):
    register("tool.plain", fit=lambda groups, context: {"n": 1.0})
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=3))
    with (
        sample_shards(path) as shards,
        pytest.raises(UsageError, match=r"^the feature tool\.plain learns with a plain"),
    ):
        CrossFitting([FeatureConfig("tool.plain")], shards, "hash").stored(tmp_path)


def test_an_encoder_that_learns_from_all_texts_at_once_is_refused_by_name(tmp_path, register):
    register("learning", type("Learning", (LetterEncoder,), {"state": {"documents": 3}}))
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=3))
    with sample_shards(path) as shards, pytest.raises(UsageError, match="^the encoder learning learns from all texts"):
        CrossFitting([FeatureConfig("tool.rel")], shards, "learning").stored(tmp_path)


def test_the_hash_encoder_counts_a_text_once_however_many_shards_have_it():
    texts = ["weather in Paris", "a flight", "weather in Paris", "", "東京の天気"]
    parts = [HashEncoder.count_texts(texts[:3]), HashEncoder.count_texts(texts[2:])]
    whole, counted = HashEncoder.fitted(texts), HashEncoder.fitted_to(parts)
    assert counted.documents == whole.documents == 4
    assert counted.frequencies.tolist() == whole.frequencies.tolist()


@pytest.mark.parametrize("kind", LINES)
def test_what_is_counted_may_lie_on_disk(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(crossfit, "IN_MEMORY", 500)
    path = write_lines(tmp_path / "samples.jsonl", LINES[kind](traces=24))
    names = [name for name in Presets.ALL[kind] if name.split(".")[1] not in ("proto", "ridge", "clauses")]
    assert_equal_fits(*both(path, [FeatureConfig(name) for name in names], "hash", 35))


@pytest.mark.parametrize("kind", LINES)
def test_the_states_of_folds_lie_in_files_and_give_the_same_columns(tmp_path, monkeypatch, kind):
    path = write_lines(tmp_path / "samples.jsonl", LINES[kind](traces=12))
    configs = [FeatureConfig(name) for name in Presets.ALL[kind]]
    in_memory = over_shards(path, configs, "hash", 35)
    monkeypatch.setattr(temporary, "LARGEST_IN_MEMORY", 64)
    in_files = over_shards(path, configs, "hash", 35)
    assert_equal_fits(in_memory, in_files, within=0)


def test_a_worker_is_sent_where_the_states_lie_and_not_their_arrays(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary, "LARGEST_IN_MEMORY", 1 << 10)
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", tool_lines(traces=60)))
    crossfit = CrossFitting([FeatureConfig("tool.ridge")], [groups], "hash").stored(tmp_path)
    assert len(crossfit.states) == 10
    assert sum(Path(states[0][0].path).stat().st_size for states in crossfit.states) > 10 * 1 << 12
    assert len(pickle.dumps(crossfit.states)) < 10 * 1 << 12


@pytest.mark.parametrize("state", [np.arange(3.0), {"numbers": np.arange(3.0)}], ids=repr)
@pytest.mark.parametrize("largest", [0, 1 << 18])
def test_a_state_of_a_plug_in_is_what_it_returned(tmp_path, monkeypatch, register, state, largest):
    monkeypatch.setattr(temporary, "LARGEST_IN_MEMORY", largest)
    seen = []

    def see(candidates, state, context):
        seen.append(plain(state))
        return np.zeros(len(candidates.names))

    counting = Counted(lambda groups, context: {"none": table(digests([]))}, lambda part: state)
    register("tool.bare", column=see, fit=counting)
    groups = read_groups(write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24)))
    crossfit = CrossFitting([FeatureConfig("tool.bare")], [groups], "hash").stored(tmp_path)
    crossfit.phi(groups)
    assert seen == [plain(state)] * len(crossfit.states)
    assert len(seen) > 1


def test_numbers_come_back_in_the_order_they_had_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(temporary, "LARGEST_IN_MEMORY", 0)
    turned = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    read = temporary.StoredState.written(tmp_path / "state", {"plain": np.ones((2, 3)), "turned": turned}).read()
    np.testing.assert_array_equal(read["turned"], turned)
    assert read["turned"].flags.f_contiguous
    assert read["plain"].flags.c_contiguous


def test_a_file_of_a_state_that_is_gone_or_short_is_told(tmp_path):
    stored = temporary.StoredState.written(tmp_path / "state", {"numbers": np.arange(1 << 16)})
    (tmp_path / "state").write_bytes(b"short")
    with pytest.raises(FileError, match="state: is shorter than what was written"):
        stored.read()
    (tmp_path / "state").unlink()
    with pytest.raises(FileError, match="state: no such file or directory; TMPDIR must lie where all nodes see it"):
        stored.read()
    with pytest.raises(DiskError, match="no such file or directory"):
        temporary.StoredState.written(tmp_path / "no" / "folder", {})


FIRST = {"tools": table(digests(["a", "b"]), {"wins": np.ones(2)})}
UNLIKE = {
    "no table": {},
    "another table": {"others": FIRST["tools"]},
    "one column more": {"tools": table(digests(["a"]), {"wins": np.ones(1), "more": np.ones(1)})},
    "wider rows": {"tools": table(digests(["a"]), {"wins": np.ones((1, 3))})},
    "a fact for a sum": {"tools": table(digests(["a"]), facts={"lost": np.ones(1)})},
}


@pytest.mark.parametrize("second", UNLIKE)
def test_a_count_that_gives_other_tables_of_some_groups_is_told_by_name(tmp_path, register, second):
    def count(groups, context):
        return FIRST if "t0" in groups.candidates.trace_ids else UNLIKE[second]

    register("tool.unlike", fit=Counted(count, lambda part: {"n": float(len(part["tools"]))}))
    path = write_lines(tmp_path / "samples.jsonl", tool_lines(traces=24))
    told = r"^the feature tool\.unlike: its count gave other tables of another shard \((tools|others)\..*same tables"
    with pytest.raises(DataError, match=told):
        fit_features([FeatureConfig("tool.unlike")], read_groups(path), "hash")
    with sample_shards(path, rows=25) as shards, pytest.raises(DataError, match=told):
        CrossFitting([FeatureConfig("tool.unlike")], shards, "hash").stored(tmp_path)
