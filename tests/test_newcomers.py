"""Tools that were never right: learned by holding tools out, while the weights of the trained columns are held."""

import json

import numpy as np
import pytest
from scipy.optimize import minimize

import ltr
from ltr.errors import UsageError
from ltr.features import NEWCOMERS
from ltr.steps import newcomers
from tests.made import written

THINGS = (
    "weather",
    "mail",
    "music",
    "flights",
    "money",
    "maps",
    "news",
    "notes",
    "photos",
    "recipes",
    "taxis",
    "films",
)
PLACES = ("Lisbon", "Oslo", "Rome", "Riga", "Bern", "Nice", "Cork", "Graz", "Lund", "Ghent")
NEW = {"find_hotels": "Find hotels", "book_trains": "Book trains", "rent_bikes": "Rent bikes"}
TEXTS = {f"get_{thing}": f"Get {thing}" for thing in THINGS} | NEW
OFFERED = 5


def lines(tools=tuple(f"get_{thing}" for thing in THINGS), *, times=6, first=0):
    """Queries that name what a tool is about; four others are offered beside it, new ones among them."""
    rng, made = np.random.default_rng(first), []
    for number in range(len(tools) * times):
        right, place = tools[number % len(tools)], PLACES[int(rng.integers(len(PLACES)))]
        others = rng.permutation([name for name in TEXTS if name != right])[: OFFERED - 1].tolist()
        asked = {
            "trace_id": f"t{first + number}",
            "node_id": "n",
            "query": f"{TEXTS[right].split()[1]} in {place}, please",
        }
        made += [
            asked | {"tool": name, "tool_description": TEXTS[name], "label": int(name == right)}
            for name in sorted([right, *others])
        ]
    return made


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    train, new = lines(), lines(tuple(NEW), times=4, first=10_000)
    return written(folder / "train.jsonl", train), written(folder / "new.jsonl", new)


def trained(files, *settings):
    train, new = files
    paths = [f"data.train={train}", f"data.test={new}"]
    return ltr.run(ltr.load_config(None, [*paths, "train.recipe=recommended", "encoder=hash", *settings]))


@pytest.fixture(scope="module")
def run(files):
    return trained(files)


@pytest.fixture(scope="module")
def run_without(files):
    return trained(files, "train.newcomers=false")


def test_a_tool_that_was_never_right_comes_first_where_its_text_says_so(run, run_without):
    top1, before = (one.measured.evaluation.means["top1_accuracy"] for one in (run, run_without))
    assert top1 > 0.9 > before


def test_the_weights_of_trained_columns_stand_still(run, run_without):
    names, trained_names = run.router.names, run_without.router.names
    assert names[-2:] == NEWCOMERS
    assert names[: len(trained_names)] == trained_names
    assert run.model.w.tolist() == run_without.model.w.tolist()
    assert len(run.router.w) - len(run_without.router.w) == len(names) - len(trained_names)


def test_the_two_weights_are_the_optimum_of_the_loss_on_what_was_held_out(files, monkeypatch):
    seen, learned = [], newcomers._fitted
    monkeypatch.setattr(newcomers, "_fitted", lambda *inputs: seen.append(inputs) or learned(*inputs))
    router = trained(files).router
    ((held, _, traces),) = seen
    is_new = np.concatenate([one.asks_for_missed for one in held])
    groups = [
        (one.newcomers[last - size : last], one.scores[last - size : last], one.labels[last - size : last])
        for one in held
        for size, last in zip(one.sizes, np.cumsum(one.sizes), strict=True)
    ]
    assert len(groups) == len(is_new)
    weights = np.where(is_new, 0.1 / 0.9 * (~is_new).sum() / is_new.sum(), 1.0)
    spread = np.concatenate([columns for columns, *_ in groups]).std(axis=0)

    def objective(u):
        losses = []
        for columns, scores, labels in groups:
            z = scores + columns @ (u / spread)
            losses.append(np.log(np.exp(z - z.max()).sum()) + z.max() - z[labels > 0].mean())
        return weights @ losses / weights.sum() + u @ u / traces

    found = minimize(objective, np.zeros(2), tol=1e-12).x / spread
    assert router.w[len(router.names) - 2 : len(router.names)] == pytest.approx(found, rel=1e-3)


def held_out(monkeypatch):
    """The groups that each fold holds out, and what is known of them, once something was trained."""
    held, scored = [], newcomers._scored

    def seen(model, applied, number, fold, missed, groups):
        known = scored(model, applied, number, fold, missed, groups)
        held.append((groups.select(np.flatnonzero(~fold.outside(groups))), known))
        return known

    monkeypatch.setattr(newcomers, "_scored", seen)
    return held


def test_no_tool_and_no_trace_that_is_held_out_is_learned_from(files, monkeypatch):
    learned_from, states = [], newcomers.fit_states
    monkeypatch.setattr(
        newcomers, "fit_states", lambda *inputs: learned_from.append(inputs[1].groups) or states(*inputs)
    )
    held = held_out(monkeypatch)
    trained(files)
    *learned_from, of_all = learned_from  # what the columns that are kept learn from
    assert len(held) == len(learned_from) == 5
    assert len(of_all.offsets) > max(len(groups.offsets) for groups in learned_from)
    for (asked, one), groups in zip(held, learned_from, strict=True):
        assert not set(asked.candidates.trace_ids) & set(groups.candidates.trace_ids)
        right = {groups.candidates.name_texts[name] for name in groups.candidates.names[groups.labels > 0].tolist()}
        names = [asked.candidates.name_texts[name] for name in asked.candidates.names.tolist()]
        assert one.newcomers[:, 0].tolist() == [float(name not in right) for name in names]


def test_a_run_that_is_loaded_ranks_and_explains_as_it_was_trained(run, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    run.router.save(home)
    loaded = ltr.load(home)
    asked = run.measured.groups.candidates
    np.testing.assert_array_equal(loaded.scores(loaded.phi(asked)), run.router.scores(run.router.phi(asked)))
    phi = loaded.phi(asked)
    assert loaded.contributions(phi).sum(axis=1) == pytest.approx(loaded.scores(phi))


def test_a_catalogue_of_new_tools_alone_is_ranked_as_without_training(run, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    run.router.save(home)
    tools = [{"name": name, "description": text} for name, text in NEW.items()]
    asked = "a hotel, or a train?"
    answer = ltr.load(home, tools=tools).rank(asked)
    untrained = ltr.search(tools, encoder="hash").rank(asked)
    assert [(one.candidate, one.score) for one in answer] == [(one.candidate, one.score) for one in untrained]
    assert answer.warnings == (
        "0 of 3 tools of the catalogue were right in training: it is ranked as without training",
    )


def test_where_most_tools_were_never_right_an_answer_says_so(run, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    run.router.save(home)
    tools = [{"name": name, "description": text} for name, text in (NEW | {"get_mail": "Get mail"}).items()]
    (warning,) = ltr.load(home, tools=tools).rank("mail").warnings
    assert warning == "3 of 4 tools were never right in training: little but their texts is known of them"


def test_too_few_queries_leave_the_run_as_it_is(tmp_path):
    train = written(tmp_path / "train.jsonl", lines(tuple(TEXTS)[:3], times=3))
    assert not set(NEWCOMERS) & set(trained((train, train)).router.names)


def test_where_tools_were_drawn_scores_have_the_offset_that_training_adds(tmp_path, monkeypatch):
    tools = [{"name": name, "description": text} for name, text in TEXTS.items()]
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    right = [{key: row[key] for key in row if key != "tool_description"} for row in lines(times=8) if row["label"]]
    train, seen = written(tmp_path / "train.jsonl", right), held_out(monkeypatch)
    settings = ["data.negatives=5", "encoder=hash", "features=[tool.name]", "train.choose=[]"]
    config = [f"data.train={train}", f"data.tools={tmp_path / 'tools.json'}", "train.recipe=recommended", *settings]
    router = ltr.run(ltr.load_config(None, config)).router
    for asked, one in seen:
        candidates = asked.candidates
        by_weights = router.w[0] * router.fitted.only("tool.name")(candidates)[:, 0]
        added = one.scores - by_weights
        np.testing.assert_allclose(added, -np.log(candidates.draws.probabilities), atol=0.5)
        assert np.ptp(np.log(candidates.draws.probabilities)) > 0


@pytest.mark.parametrize("named", [NEWCOMERS, NEWCOMERS[1:], NEWCOMERS[:1]])
def test_a_config_that_names_the_columns_trains_them_as_others(files, named):
    names = json.dumps(["tool.proto", "tool.zero_shot", *named])
    router = trained(files, f"features={names}", "train.choose=[]").router
    assert router.names == ("tool.proto", "tool.zero_shot", *named)
    assert router.training.newcomers is None


def test_the_catalogue_of_a_run_is_its_own_however_few_of_its_tools_were_right(run, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    run.router.save(home)
    others = [{"name": f"other_{number}", "description": f"Do thing {number}"} for number in range(300)]
    tools = [{"name": name, "description": text} for name, text in TEXTS.items()] + others
    (warning,) = ltr.load(home, tools=tools).rank("mail in Rome").warnings
    assert warning.endswith("were never right in training: little but their texts is known of them")


def test_outcomes_of_another_catalogue_are_not_learned_by_the_run(run, tmp_path):
    home = tmp_path / "run"
    home.mkdir()
    run.router.save(home)
    tools = [{"name": name, "description": text} for name, text in NEW.items()]
    with pytest.raises(UsageError, match="the catalogue is another one than the run's"):
        ltr.load(home, tools=tools).learn({"id": "a", "query": "a room", "right": "find_hotels"})
