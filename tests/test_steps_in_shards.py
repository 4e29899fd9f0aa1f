"""What a model says of none, abstaining, its own past and a catalogue is measured shard by shard as at once."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

import ltr
from ltr import RunConfig
from ltr.results import evaluate_router
from ltr.samples import Shards, past_from_labels
from tests.made import WORDS, tool_rows, written
from tests.test_none_and_context import with_none
from tests.test_past import lines_of
from tests.test_shard_run import close

TOOLS = {f"get_{word}": {"description": f"gives the {word} of a place"} for word in WORDS}


class Parts(Shards):
    """Groups in memory, as shards."""

    def __init__(self, parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts)

    def __getitem__(self, number):
        return self.parts[number]


def cut(groups, number):
    """The groups in so many shards of whole traces, in their order."""
    traces = groups.candidates.traces
    borders = np.linspace(0, traces.max() + 1, number + 1).round()
    inside = [
        np.flatnonzero((traces >= low) & (traces < high)) for low, high in zip(borders, borders[1:], strict=False)
    ]
    return Parts([groups.select(chosen) for chosen in inside])


def both(router, groups, config, number=4):
    """The groups measured in shards, and at once."""
    return evaluate_router(router, cut(groups, number), config), evaluate_router(router, groups, config)


def equal(found, expected):
    """Whether two evaluations say the same but for the last digits of means that are sums."""
    records = [msgspec.to_builtins(measured.record) for measured in (found, expected)]
    for record in records:  # each shard names a tool without a text
        record["warnings"] = [warning for warning in record["warnings"] if not warning.startswith("no-text")]
    close(*records)
    close(found.curves(), expected.curves())
    for name, values in expected.evaluation.values.items():
        assert found.evaluation.values[name].tobytes() == values.tobytes(), name


def test_the_own_past_is_walked_in_each_shard(tmp_path):
    groups = past_from_labels(ltr.read_groups(written(tmp_path / "s.jsonl", lines_of())))
    data = ltr.load_config(None, [f"data.train={tmp_path / 's.jsonl'}", "data.previous=from_labels", "encoder=hash"])
    found, expected = both(ltr.run(data).router, groups, RunConfig())
    assert found.past == "own"
    assert found.with_labels.means == pytest.approx(expected.with_labels.means)
    equal(found, expected)


def test_the_whole_catalogue_is_ranked_in_each_shard(tmp_path):
    (tmp_path / "tools.json").write_text(json.dumps({"tools": TOOLS}), encoding="utf-8")
    samples = str(written(tmp_path / "s.jsonl", tool_rows(range(20))))
    router = ltr.train(samples, tools=str(tmp_path / "tools.json"), encoder="hash").router
    groups = router.read((samples,), RunConfig().data)
    config = ltr.load_config(None, ["evaluate.catalogue=true", f"data.tools={tmp_path / 'tools.json'}"])
    found, expected = both(router, groups, config)
    assert found.catalogue.tools == len(TOOLS)
    assert "mrr@catalogue" in found.record.intervals
    equal(found, expected)


def test_copies_without_their_right_candidates_are_those_of_all_shards(tmp_path):
    samples = written(tmp_path / "s.jsonl", tool_rows(range(30)))
    told = [f"data.train={samples}", "encoder=hash", "none.source=removed:0.2", "none.share=0.1"]
    found, expected = both(ltr.run(ltr.load_config(None, told)).router, ltr.read_groups(samples), RunConfig())
    assert found.none.none_queries == expected.none.none_queries
    equal(found, expected)


def test_a_shard_in_which_nothing_is_right_counts_for_none_and_for_abstaining(tmp_path, cli):
    nothing = with_none(list(tool_rows(range(50, 60))), every=1)
    unsaid = [{**row, "label": 0} for row in tool_rows(range(100, 101))]  # no candidate is right, and none is not said
    samples = written(tmp_path / "s.jsonl", [*with_none(list(tool_rows(range(40)))), *nothing, *unsaid])
    flags = ("--encoder", "hash", "--none-from", "log", "--abstain", "risk=0.4", "--calibrate", "0.3", "-q")
    cli.good("train", samples, *flags, "-o", "run")
    for out in ("columns/", "whole.npz"):
        cli.good("featurize", "-m", "run", samples, *(("--shard-rows", "40") if out == "columns/" else ()), "-o", out)
    for out in ("columns", "whole.npz"):
        cli.good("evaluate", "run", out, "-o", f"of-{out}", "--baselines", "-q")
    cli.good("evaluate", "run", "columns", "-o", "again", "--baselines", "-q", "--workers", "2")
    assert Path("again/metrics.json").read_bytes() == Path("of-columns/metrics.json").read_bytes()
    found, expected = (json.loads(Path(f"of-{out}/metrics.json").read_text()) for out in ("columns", "whole.npz"))
    assert found["none"]["none_queries"] == found["counts"]["num_none"] > 10
    assert found["abstention"]["queries"] == expected["abstention"]["queries"]
    close(found, expected)
    assert Path("of-columns/per_query.jsonl").read_bytes() == Path("of-whole.npz/per_query.jsonl").read_bytes()


def test_what_is_kept_without_texts_holds_none_in_shards_nor_at_once(tmp_path, cli):
    samples = written(tmp_path / "s.jsonl", [row | {"query": f"SECRET {row['query']}"} for row in tool_rows(range(20))])
    cli.good("train", samples, "--encoder", "hash", "-o", "run", "-q", "--no-texts")
    cli.good("featurize", "-m", "run", samples, "--shard-rows", "40", "-o", "columns/")
    cli.good("featurize", "-m", "run", samples, "-o", "whole.npz")
    for source in ("columns", "whole.npz"):
        cli.good("evaluate", "run", source, "--set", "data.texts=false", "-o", f"of-{source}", "-q")
        assert not [file for file in Path(f"of-{source}").iterdir() if b"SECRET" in file.read_bytes()]
    for name in ("per_query.jsonl", "by_tool.jsonl"):
        assert Path("of-columns", name).read_bytes() == Path("of-whole.npz", name).read_bytes()
