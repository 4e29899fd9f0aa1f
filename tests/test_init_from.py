"""ltr init --from: a log becomes a directory with samples, a config that fits, two runs and a page, or nothing."""

import json
import shutil
from pathlib import Path

import pytest

import ltr
from ltr import load_config
from ltr.config import recipes
from ltr.errors import DataError, FileError, RunError, UsageError
from ltr.experiments import router_from_log
from tests.chats import call, exchange, said, user
from tests.made import graph_rows, tool_rows, written

CITIES = ("Oslo", "Paris", "Rome", "Lima", "Bonn")
ASKED = {"weather": "rain in {}?", "mail": "write to Ann in {}", "search": "find hotels in {}"}


def chat_lines(conversations=7, *, timed=True):
    """A log: each conversation asks for two tools and ends with a word of thanks."""
    for number in range(conversations):
        messages = []
        for step in range(2):
            name = list(ASKED)[(number + step) % len(ASKED)]
            messages = [*messages, user(ASKED[name].format(CITIES[number % 5] + f" {number}"))]
            line = exchange(messages, said(call(name)), finish="tool_calls", metadata={"conversation_id": f"c{number}"})
            if timed:
                line["response"]["created"] = 1_700_000_000 + 100 * number + step
            else:
                del line["response"]["created"]
            yield line
            messages = [*messages, said(call(name)), {"role": "tool", "tool_call_id": "c1", "content": "ok"}]


@pytest.fixture
def plain_recipe(monkeypatch):
    """Folds choose nothing for the recommended recipe: where what is learned is not the point, they take long."""
    monkeypatch.setattr(recipes, "_left_to_folds", lambda *_, **__: {"train.choose": []})


def chosen(started):
    return {choice.key: choice.value for choice in started.choices}


def names_under(directory):
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    home = tmp_path_factory.mktemp("started")
    return ltr.init_from(written(home / "log.jsonl", chat_lines()), home / "router")


def test_a_log_becomes_samples_tools_a_config_two_runs_and_a_page(started):
    names = names_under(started.directory)
    assert [name for name in names if "/" not in name] == ["ltr.yaml", "report.html"]
    assert [name for name in names if name.startswith("data/")] == ["data/samples.jsonl", "data/tools.json"]
    assert {name.split("/")[1] for name in names if name.startswith("runs/")} == {"recommended", "specification"}
    assert (started.imported.format, started.imported.groups) == ("openai", 14)
    assert started.audit.counts["errors"] == 0
    assert list(ltr.read_tools(started.directory / "data" / "tools.json")) == ["weather", "mail", "search"]


def test_nothing_in_the_directory_names_the_place_where_it_was_made(started):
    for name in names_under(started.directory):
        assert b".new-" not in (started.directory / name).read_bytes(), name


def test_the_page_has_the_runs_beside_what_needs_no_training(started):
    page = (started.directory / "report.html").read_text()
    table = page[page.index("Each run, below what they must beat") :]
    without_training = ("random order", "offered order", "most used", "BM25", "similarity")
    names = (*without_training, "specification", "recommended")
    assert sorted(names, key=table.index) == list(names)


def test_the_config_makes_the_same_run_again_and_the_other_differs_in_its_recipe_alone(started):
    config = load_config(started.directory / "ltr.yaml")
    assert config.kind == "tool"
    again = ltr.run(config).measured.evaluation.means
    assert again == started.recommended.result.measured.evaluation.means
    other = load_config(started.directory / "ltr.yaml", ["train.recipe=specification"])
    assert ltr.run(other).measured.evaluation.means == started.specification.result.measured.evaluation.means


def test_a_run_in_the_directory_loads_and_ranks(started):
    answer = ltr.load(started.directory / "runs" / "recommended").rank("rain in Bergen?", k=1)
    assert [choice.candidate for choice in answer] == ["weather"]


def test_the_test_is_the_latest_conversations_where_every_decision_has_a_time(started):
    assert chosen(started)["data.split"] == "time"
    tested = started.recommended.result.measured.groups
    assert tested.times.min() > started.recommended.result.train.times.max()


@pytest.mark.usefixtures("plain_recipe")
def test_without_times_the_test_is_drawn_by_the_seed(tmp_path):
    started = ltr.init_from(written(tmp_path / "log.jsonl", chat_lines(timed=False)), tmp_path / "router")
    assert chosen(started)["data.split"] == "trace"
    assert "split: trace" in (tmp_path / "router" / "ltr.yaml").read_text()


@pytest.mark.usefixtures("plain_recipe")
def test_conversations_that_all_end_at_one_time_are_drawn_by_the_seed(tmp_path):
    rows = [row | {"time": 7} for row in tool_rows(range(6))]
    assert chosen(ltr.init_from(written(tmp_path / "s.jsonl", rows), tmp_path / "router"))["data.split"] == "trace"


@pytest.mark.usefixtures("plain_recipe")
def test_lists_of_five_and_more_stay_as_they_are(tmp_path):
    started = ltr.init_from(written(tmp_path / "s.jsonl", tool_rows(range(6))), tmp_path / "router")
    assert "data.negatives" not in chosen(started)
    assert started.imported is None
    assert started.recommended.result.measured.groups.candidates.is_logged.all()


@pytest.mark.usefixtures("plain_recipe")
def test_where_only_the_right_tool_is_known_the_catalogue_gives_the_others(tmp_path):
    rows = [row for row in tool_rows(range(6)) if row["label"]]
    table = "session,query,tool\n" + "".join(f"{row['trace_id']},{row['query']},{row['tool']}\n" for row in rows)
    (tmp_path / "picks.csv").write_text(table)
    started = ltr.init_from(tmp_path / "picks.csv", tmp_path / "router")
    assert chosen(started)["data.negatives"] == "catalogue"
    tools = {row["tool"] for row in rows}
    assert set(started.recommended.result.measured.evaluation.num_candidates) == {len(tools)}


@pytest.mark.usefixtures("plain_recipe")
def test_samples_are_taken_as_they_are_lines_or_an_array(tmp_path):
    rows = list(tool_rows(range(6)))
    written(tmp_path / "s.jsonl", rows)
    (tmp_path / "s.json").write_text(json.dumps(rows, indent=2))
    for name in ("s.jsonl", "s.json"):
        ltr.init_from(tmp_path / name, tmp_path / f"of-{name}")
        lines = (tmp_path / f"of-{name}" / "data" / "samples.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == rows


@pytest.mark.usefixtures("plain_recipe")
def test_samples_are_redacted_as_a_log_is_and_the_summary_says_so(cli):
    secrets = {"query": "mail ann@example.org", "context": "user: DB_PASSWORD=Zx81qVbN4c"}
    listed = {
        "trace_id": "more",
        "node_id": "",
        "query": "again: bob@example.org",
        "candidates": [
            {"tool": row["tool"], "tool_description": "key: AK" + "IAQ3EGR7XD52LMNOPZ", "label": row["label"]}
            for row in [*tool_rows([0])][:5]
        ],
    }
    rows = [*(row | secrets for row in tool_rows(range(6))), listed]
    written("s.jsonl", rows)
    cli.good("init", "--from", "s.jsonl")
    assert [line.split(maxsplit=1) for line in cli.out.splitlines()[:4]] == [
        ["also"],
        [f"{len(rows)}", "mail addresses replaced by [mail]"],
        [f"{len(rows) - 1}", "tokens replaced by [token]"],
        [f"{len(listed['candidates'])}", "keys replaced by [key]"],
    ]
    started = ltr.init_from(rows, "of-rows")  # rows in Python are no different
    assert [count.number for count in started.redacted] == [len(rows), len(rows) - 1, len(listed["candidates"])]
    for home in (Path("router"), Path("of-rows")):
        for file in filter(Path.is_file, home.rglob("*")):
            content = file.read_bytes()
            assert [part for part in (b"ann@", b"bob@", b"Zx81qVbN4c", b"IAQ3EGR7") if part in content] == [], file
        assert "mail [mail]" in (home / "data" / "samples.jsonl").read_text()


@pytest.mark.usefixtures("plain_recipe")
def test_rows_in_python_are_taken_as_they_are(tmp_path):
    rows = list(tool_rows(range(6)))
    ltr.init_from(rows, tmp_path / "router")
    lines = (tmp_path / "router" / "data" / "samples.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
    with pytest.raises(DataError, match=r"<list>:2: label: found -1"):
        ltr.init_from([rows[0], rows[1] | {"label": -1}], tmp_path / "other")


@pytest.mark.usefixtures("plain_recipe")
def test_teams_of_agents_need_no_catalogue(tmp_path):
    started = ltr.init_from(written(tmp_path / "s.jsonl", graph_rows(range(6))), tmp_path / "router")
    assert list(chosen(started)) == ["data.split", "encoder"]
    assert not (tmp_path / "router" / "data" / "tools.json").exists()


@pytest.mark.usefixtures("plain_recipe")
def test_the_texts_of_a_catalogue_replace_those_of_the_log(tmp_path):
    tools = {"tools": {name: {"description": f"own words on {name}"} for name in ("weather", "mail", "late")}}
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    written(tmp_path / "log.jsonl", chat_lines())
    ltr.init_from(tmp_path / "log.jsonl", tmp_path / "router", tools=tmp_path / "tools.json")
    texts = ltr.read_tools(tmp_path / "router" / "data" / "tools.json")
    assert [texts[name].description for name in ("weather", "search", "late")] == [
        "own words on weather",
        "searchs something",
        "own words on late",
    ]


@pytest.mark.usefixtures("plain_recipe")
@pytest.mark.parametrize(
    "failure, name",
    [(RunError("no room"), "earlier"), (KeyboardInterrupt(), "router"), (OSError("gone"), "earlier")],
)
def test_what_fails_at_the_end_leaves_nothing_and_an_earlier_directory_stays(
    tmp_path, monkeypatch, failure, name, started
):
    def fails(*_, **__):
        raise failure

    log = written(tmp_path / "log.jsonl", chat_lines())
    shutil.copytree(started.directory, tmp_path / "earlier")
    before = {name: (tmp_path / "earlier" / name).read_bytes() for name in names_under(tmp_path / "earlier")}
    monkeypatch.setattr(router_from_log, "write_report", fails)
    with pytest.raises(type(failure)):
        ltr.init_from(log, tmp_path / name, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["earlier", "log.jsonl"]
    after = {name: (tmp_path / "earlier" / name).read_bytes() for name in names_under(tmp_path / "earlier")}
    assert after == before


@pytest.mark.usefixtures("plain_recipe")
def test_an_earlier_directory_is_replaced_only_if_asked_and_only_if_nothing_else_lies_there(tmp_path, started):
    log, home = written(tmp_path / "log.jsonl", chat_lines()), tmp_path / "router"
    shutil.copytree(started.directory, home)
    with pytest.raises(UsageError, match="holds a router; add --overwrite, or name another directory"):
        ltr.init_from(log, home)
    (home / "runs" / "leaderboard.json").write_text("{}")  # of `ltr run` there
    ltr.init_from(log, home, overwrite=True)
    assert not (home / "runs" / "leaderboard.json").exists()
    for place in (home / "notes.txt", home / "data" / "more.jsonl", home / "runs" / "recommended" / "mine.txt"):
        place.write_text("mine")
        with pytest.raises(UsageError, match="holds other things"):
            ltr.init_from(log, home, overwrite=True)
        assert place.read_text() == "mine"
        place.unlink()


def test_what_cannot_be_learned_from_is_refused_with_what_would_be_right(tmp_path):
    few = written(tmp_path / "few.jsonl", chat_lines(4))
    with pytest.raises(DataError, match=r"4 conversations with a right candidate .*; at least 5 are needed"):
        ltr.init_from(few, tmp_path / "router")
    one = [row | {"tool": "only", "label": 1} for row in tool_rows(range(9)) if row["label"]]
    with pytest.raises(DataError, match=r"one tool \(only\): there is nothing to choose between; --tools FILE names"):
        ltr.init_from(written(tmp_path / "one.jsonl", one), tmp_path / "router")
    with pytest.raises(UsageError, match="stdin cannot be read a second time; name a file"):
        ltr.init_from("-", tmp_path / "router")
    with pytest.raises(UsageError, match="unknown encoder 'hsh'; did you mean hash"):
        ltr.init_from(few, tmp_path / "router", encoder="hsh")
    (tmp_path / "other.json").write_text('{"tools": {"x": {"description": "y"}}}')
    with pytest.raises(FileError, match=r"other.json: the catalogue names 0 of 3 tools"):
        ltr.init_from(few, tmp_path / "router", tools=tmp_path / "other.json")
    assert not (tmp_path / "router").exists()


def test_errors_name_the_users_own_lines_and_no_file_that_is_not_there(tmp_path):
    rows = list(tool_rows(range(9)))
    wrong = written(tmp_path / "s.jsonl", [*rows, rows[0] | {"label": -1}])
    with pytest.raises(DataError, match=r"s.jsonl:91: label: found -1"):
        ltr.init_from(wrong, tmp_path / "router")
    all_wrong = written(tmp_path / "zero.jsonl", [row | {"label": 0} for row in rows])
    with pytest.raises(DataError) as error:
        ltr.init_from(all_wrong, tmp_path / "router")
    assert ".new-" not in str(error.value)


def test_the_command_ends_in_the_ways_beside_each_other_and_commands_that_run(cli):
    written("log.jsonl", chat_lines(5))
    lines = cli.good("init", "--from", "log.jsonl", "my router").splitlines()
    assert [line.split("  ")[0] for line in lines if line.split("  ")[0] in ("specification", "recommended")] == [
        "specification",
        "recommended",
    ]
    assert any(line.startswith("random order") for line in lines)
    assert any(line.startswith("similarity") for line in lines)
    chosen_lines = [[part.strip() for part in line.split("  ")] for line in lines if line.startswith("  data.split")]
    assert [(line[1], line[-1]) for line in chosen_lines] == [
        ("data.split: time", "the latest conversations are the test: every decision has a time")
    ]
    assert lines[-3:] == [
        "next: open 'my router/report.html'",
        "then: ltr rank 'my router/runs/recommended' \"your query\"",
        "or change ltr.yaml there and train again: (cd 'my router' && ltr run --overwrite)",
    ]
    assert "weather" in cli.good("rank", "my router/runs/recommended", "rain in Oslo?")
    cli.good("run", "my router/ltr.yaml", "-o", "my router/runs", "--overwrite", "-q")


@pytest.mark.usefixtures("plain_recipe")
def test_findings_are_counted_with_the_command_that_lists_them(cli):
    written("s.jsonl", [row | {"tool_description": ""} for row in tool_rows(range(6))])
    line = next(line for line in cli.good("init", "--from", "s.jsonl").splitlines() if line.startswith("validated"))
    assert line.startswith("validated: 0 errors, 1 warning; they are listed by: ltr validate ")
    listed = cli.good(*line.partition("ltr ")[2].split())
    assert "no-text" in listed


@pytest.mark.usefixtures("plain_recipe")
def test_without_a_directory_it_makes_one_named_router(cli, tmp_path):
    written("log.jsonl", chat_lines())
    cli.good("init", "--from", "log.jsonl", "-q")
    assert (tmp_path / "router" / "ltr.yaml").exists()


def test_options_for_a_log_are_refused_without_one(cli):
    assert cli.refused("init", "--encoder", "hash") == (
        2,
        "--encoder and --seed are for --from LOG; without it, they stand in ltr.yaml",
    )
