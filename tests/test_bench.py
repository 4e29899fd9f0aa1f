"""ltr bench from a config to its files: what it measures, keeps, leaves out, and how it ends."""

import json
import shutil
import signal
import sys
import time

import numpy as np
import pytest

from ltr import RunConfig, evaluate, rank, read_groups, write_report
from ltr.errors import ConfigError, DataError, ResumeError, RunError, UsageError
from ltr.rerankers.bench import Allowed, run_bench
from ltr.rerankers.config import BenchConfig, BenchData, BenchEntry, load_bench
from ltr.rerankers.measure import TIDYING, Task, measure_reranker
from ltr.rerankers.program import ENDING
from ltr.rerankers.protocol import RerankerChoice, Setting, collection, queries_with_documents
from tests import warm
from tests.builders import tool_lines, write_lines
from tests.left_processes import is_alive
from tests.made import SEEN, DataConfig, save_run

CODE = """
import multiprocessing, os, signal, time
from ltr.rerankers import reranker

@reranker("shortest")
def shortest(setting):
    "The shortest text first."
    print("noise")
    return lambda query, documents: [-float(len(text)) for text in documents.texts]

@reranker("broken")
def broken(setting):
    "Raises."
    def scores(query, documents):
        raise ValueError("no such\\nluck")
    return scores

@reranker("gone")
def gone(setting):
    "Ends its process."
    return lambda query, documents: os._exit(3)

@reranker("asleep")
def asleep(setting):
    "Says where it is, and sleeps."
    def scores(query, documents):
        with open("begun", "w") as file:
            file.write(str(os.getpid()))
        os.rename("begun", "asleep")
        time.sleep(600)
    return scores

@reranker("killer")
def killer(setting):
    "Kills the bench, once."
    def scores(query, documents):
        if not os.path.exists("killed"):
            open("killed", "w").close()
            os.kill(multiprocessing.parent_process().pid, signal.SIGKILL)
        return [0.0] * len(documents)
    return scores
"""
TRACES, GROUPS = 10, 3


@pytest.fixture
def samples(tmp_path):
    return write_lines(tmp_path / "s.jsonl", tool_lines(traces=TRACES, groups=GROUPS))


@pytest.fixture(scope="module")
def a_bench(tmp_path_factory):
    """A bench of one reranker, to be copied."""
    home = tmp_path_factory.mktemp("bench")
    path = write_lines(home / "s.jsonl", tool_lines(traces=TRACES, groups=GROUPS))
    run_bench(config(path, "random"), home / "out")
    return home / "out"


@pytest.fixture
def ended(samples, a_bench, tmp_path):
    """A bench of these samples."""
    return shutil.copytree(a_bench, tmp_path / "out")


@pytest.fixture
def code(tmp_path):
    (tmp_path / "mine.py").write_text(CODE, encoding="utf-8")
    return tmp_path / "mine.py"


def config(samples, *rerankers, **changes):
    return BenchConfig(data=BenchData(samples=(str(samples),)), rerankers=rerankers, **changes)


def written(tmp_path, text):
    path = tmp_path / "b.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def document(home):
    return json.loads((home / "bench.json").read_text(encoding="utf-8"))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_bench_says_all_that_it_promises(samples, tmp_path):
    priced = BenchEntry(name="hash", label="letters", price_per_document=0.25, price_per_query=1.0)
    home = tmp_path / "out"
    run_bench(load_plain(config(samples, "random", "oracle", "bm25", priced)), home)
    found = document(home)
    assert found["format"] == "ltr-bench/2"
    queries = TRACES * GROUPS
    assert (found["queries"], found["documents"], found["sampled"]) == (queries, queries * 4, False)
    assert [each["name"] for each in found["rerankers"]] == ["random", "oracle", "bm25", "letters"]
    letters = found["rerankers"][3]
    assert set(letters["quality"]) == {"ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "mrr", "hit@1"}
    assert letters["latency"]["n"] == queries
    assert letters["latency"]["too_few"] == ["p99_ms"]
    assert letters["latency"]["p50_ms"] <= letters["latency"]["p95_ms"] <= letters["latency"]["p99_ms"]
    assert letters["cost"] == {"total": queries * (1 + 4 * 0.25), "per_query": 2.0, "per_document": 0.5}
    assert letters["cold_start_ms"] > 0
    assert found["rerankers"][2]["cost"] is None
    assert found["rerankers"][1]["quality"]["ndcg@10"]["mean"] == 1.0
    assert [(each["a"], each["metric"]) for each in found["comparisons"]] in (
        [("bm25", "ndcg@10")],
        [("letters", "ndcg@10")],
    )
    assert found["conclusions"]["best_quality"] in ("bm25", "letters")
    assert not any(each["is_on_front"] for each in found["rerankers"][:2])
    assert sorted(path.name for path in home.iterdir()) == [
        "bench.json", "config.yaml", "cost.tsv", "latency.tsv", "measured", "per_query.jsonl", "quality.tsv",
        "report.html", "sampled.jsonl",
    ]  # fmt: skip
    assert len(lines(home / "sampled.jsonl")) == queries
    assert len(lines(home / "per_query.jsonl")) == 4 * queries
    assert len((home / "latency.tsv").read_text().splitlines()) == 5


def load_plain(wanted):
    """The config as if it came from a file."""
    from dataclasses import replace

    return replace(wanted, rerankers=wanted.entries)


def test_quality_is_what_evaluate_says_of_the_scores(samples, tmp_path):
    groups = read_groups(samples)
    opened = RerankerChoice("bm25").opened(Setting(collection=collection(groups.candidates)))
    found = np.concatenate([opened(each.query, each.documents) for each in queries_with_documents(groups)])
    expected = evaluate(rank(found, groups.offsets), groups.labels, ["ndcg@10"]).means
    bench = run_bench(config(samples, "bm25"), tmp_path / "out")
    quality = bench.record.rerankers[0].quality
    assert quality["ndcg@10"].mean == pytest.approx(expected["ndcg@10"])
    assert quality["mrr"].mean == pytest.approx(expected["mrr"])
    assert quality["mrr"].low <= quality["mrr"].mean <= quality["mrr"].high


def test_the_clock_is_an_argument_and_warm_up_is_left_out(samples):
    groups = read_groups(samples)
    seconds = iter(range(100))
    task = Task(
        choice=RerankerChoice("bm25"),
        setting=Setting(collection=collection(groups.candidates)),
        groups=groups,
        timed=(2, 5),
        repeats=2,
        warm_up=3,
    )
    found = measure_reranker(task, queries_with_documents(groups), clock=lambda: float(next(seconds)))
    assert found.latencies_ms == [1000.0] * 4  # two queries, twice: a second between two looks at the clock
    assert found.cold_start_ms == 3000.0  # opened at 0, the first query from 1 to 2, then 3
    assert sorted(found.scores) == [2, 5]
    assert found.timed == [2, 5]


def test_workers_score_what_is_not_timed_and_change_nothing(samples, tmp_path):
    whole = run_bench(config(samples, "bm25", "random"), tmp_path / "whole")
    parts = run_bench(config(samples, "bm25", "random", timed=4, workers=2, repeats=3), tmp_path / "parts")
    for ours, theirs in zip(parts.measurements, whole.measurements, strict=True):
        assert ours.scores == theirs.scores
        assert len(ours.latencies_ms) == 4 * 3
    timed = [line["latency_ms"] for line in lines(tmp_path / "parts" / "per_query.jsonl")]
    assert sum(took is not None for took in timed) == 2 * 4


def test_a_sample_is_drawn_by_the_seed_and_written_out(samples, tmp_path):
    drawn = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        bench = run_bench(config(samples, "random", sample=7, seed=seed), tmp_path / name)
        assert (bench.record.sampled, bench.record.queries_in_data) == (True, TRACES * GROUPS)
        drawn.append([(each["trace_id"], each["node_id"]) for each in lines(tmp_path / name / "sampled.jsonl")])
    assert len(drawn[0]) == len(set(drawn[0])) == 7
    assert drawn[0] == drawn[1] != drawn[2]
    assert "7 queries are few" in bench.record.warnings[0]


def test_what_fails_or_is_missing_leaves_the_others_alone(samples, code, tmp_path):
    names = ("bm25", "broken", "gone", "model:nowhere", "command", "shortest")
    text = f"data: {{samples: {samples}}}\nrerankers: [{', '.join(names)}]\n"
    done = warm.command("bench", written(tmp_path, text), "-o", "out", "--code", code, "--format", "json", cwd=tmp_path)
    err = done.stderr.decode()
    assert done.returncode == 1, err
    found = json.loads(done.stdout)  # the noise of a plug-in is not on stdout
    assert found == document(tmp_path / "out")
    assert [each["name"] for each in found["rerankers"]] == ["bm25", "shortest"]
    assert found["failed"] == [
        {"name": "broken", "why": f"{code}:15: reranker broken failed: ValueError: no such luck"},
        {"name": "gone", "why": "its process ended with 3: too little memory, or killed"},
    ]
    assert [each["name"] for each in found["left_out"]] == ["model:nowhere", "command"]
    assert "nowhere: no such run" in found["left_out"][0]["why"]
    assert "add --allow-command" in found["left_out"][1]["why"]
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "error: 2 of 6 rerankers failed: broken, gone"


def test_a_killed_bench_goes_on_and_measures_only_what_is_missing(samples, code, tmp_path):
    text = f"data: {{samples: {samples}}}\nrerankers: [bm25, killer, random]\n"
    command = ("bench", written(tmp_path, text), "-o", "out", "--code", code, "--format", "json")
    assert warm.command(*command, cwd=tmp_path).returncode == -9
    assert not (tmp_path / "out" / "bench.json").exists()
    refused = warm.command(*command, cwd=tmp_path)
    assert refused.returncode == 2
    assert b"out: holds a bench; add --resume to keep what was measured, or --overwrite" in refused.stderr
    done = warm.command(*command, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[:3] == [b"reused bm25", b"measured killer", b"measured random"]
    again = warm.command(*command, "--resume", cwd=tmp_path)
    assert again.stderr.splitlines()[:3] == [b"reused bm25", b"reused killer", b"reused random"]
    assert again.stdout == done.stdout


def interrupted(command, tmp_path, *numbers):
    """Of each signal the bench that heard it when its reranker slept, and the process that slept."""
    benches = []
    for number in numbers:
        (tmp_path / number.name).mkdir()
        benches.append(warm.Started(*command, cwd=tmp_path / number.name))
    for number, bench in zip(numbers, benches, strict=True):
        wait_for((tmp_path / number.name / "asleep").exists)
        bench.send_signal(number)
    ended = [bench.ended() for bench in benches]
    return ended, [int((tmp_path / number.name / "asleep").read_text()) for number in numbers]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupted_bench_leaves_no_process_and_no_traceback(samples, code, tmp_path):
    path = written(tmp_path, f"data: {{samples: {samples}}}\nrerankers: [asleep]\n")
    command = ["bench", path, "-o", "out", "--code", code]
    benches, asleep = interrupted(command, tmp_path, signal.SIGINT, signal.SIGTERM)
    assert [bench.returncode for bench in benches] == [130, 143]
    assert not any(b"Traceback" in bench.stderr for bench in benches)
    assert not any(map(is_alive, asleep))


STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open("begun", "w") as file:
    file.write(str(os.getpid()))
os.rename("begun", "asleep")
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_program_that_ends_for_nothing_ends_with_the_bench(samples, tmp_path):
    assert ENDING < TIDYING  # else a process of the bench is killed before it has killed the program
    (tmp_path / "stubborn.py").write_text(STUBBORN, encoding="utf-8")
    (tmp_path / "hasty.py").write_text("from ltr.rerankers import program\n\nprogram.ENDING = 0.2\n", encoding="utf-8")
    arguments = f"{{arguments: ['{sys.executable}', ../stubborn.py]}}"
    text = f"data: {{samples: {samples}}}\nrerankers: [{{name: command, options: {arguments}}}]\n"
    command = ["bench", written(tmp_path, text), "-o", "out", "--allow-command", "--code", tmp_path / "hasty.py"]
    _, programs = interrupted(command, tmp_path, signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    wait_for(lambda: not any(map(is_alive, programs)))
    assert not any(map(is_alive, programs))


def wait_for(what):
    deadline = time.monotonic() + 60
    while not what() and time.monotonic() < deadline:
        time.sleep(0.01)


def test_another_reranker_joins_and_other_options_are_measured_again(samples, tmp_path):
    told = []
    home = tmp_path / "out"
    run_bench(config(samples, "bm25"), home)
    other = BenchEntry(name="bm25", label="bm25, b 0", options={"b": 0.0})
    run_bench(
        config(samples, "bm25", other), home, resume=True, on_event=lambda event: told.append((event.name, event.what))
    )
    assert told == [("bm25", "reused"), ("bm25, b 0", "measured")]


def test_other_data_or_settings_are_no_resume(samples, ended):
    with pytest.raises(ResumeError, match="settings.seed: 0 became 1"):
        run_bench(config(samples, "random", seed=1), ended, resume=True)
    write_lines(samples, tool_lines(seed=9))
    with pytest.raises(ResumeError, match="inputs.*s.jsonl"):
        run_bench(config(samples, "random"), ended, resume=True)
    run_bench(config(samples, "random", seed=1), ended, overwrite=True)
    assert len(list((ended / "measured").glob("*.json"))) == 2  # the task, and one measurement


def test_an_earlier_bench_stays_whole_until_the_one_that_overwrites_it_is_complete(samples, ended):
    before = {path: path.read_bytes() for path in ended.rglob("*") if path.is_file()}

    def on_event(event):
        assert {path: path.read_bytes() for path in before} == before

    run_bench(config(samples, "random", seed=1), ended, overwrite=True, on_event=on_event)
    assert not (ended / "checkpoints").exists()


def test_a_directory_of_others_is_never_emptied(samples, tmp_path):
    home = tmp_path / "out"
    home.mkdir()
    (home / "config.yaml").write_text("mine: true\n")
    for flags in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(UsageError, match=r"holds other things, such as 'config\.yaml'"):
            run_bench(config(samples, "random"), home, **flags)
    assert (home / "config.yaml").read_text() == "mine: true\n"


@pytest.mark.parametrize("name", ["mine.txt", "measured/mine.txt"])
def test_a_bench_with_something_of_others_in_it_is_left_alone(name, samples, ended):
    (ended / name).write_text("mine")
    with pytest.raises(UsageError, match=rf"holds other things, such as '{name}'"):
        run_bench(config(samples, "random"), ended, overwrite=True)
    assert (ended / name).read_text() == "mine"


def test_a_damaged_measurement_is_named(samples, ended):
    kept = next(path for path in (ended / "measured").glob("*.json") if path.name != "task.json")
    kept.write_bytes(b"{")
    bench = run_bench(config(samples, "random"), ended, resume=True)
    assert "not a measurement" in bench.record.failed[0].why


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": {}},
        {"scores": {str(place): [1.0] for place in range(TRACES * GROUPS)}},
        {"timed": []},
        {"timed": [999] * TRACES * GROUPS},
        {"latencies_ms": []},
        {"latencies_ms": [-1.0] * TRACES * GROUPS},
    ],
)
def test_a_measurement_of_other_queries_is_named(changes, samples, ended):
    kept = next(path for path in (ended / "measured").glob("*.json") if path.name != "task.json")
    kept.write_text(json.dumps(json.loads(kept.read_text()) | changes))
    bench = run_bench(config(samples, "random"), ended, resume=True)
    assert "not a measurement of these queries; remove it to measure again" in bench.record.failed[0].why


def test_a_run_that_learned_from_the_queries_is_warned_about(samples, tmp_path):
    save_run(RunConfig(encoder="hash", data=DataConfig(train=str(samples))), tmp_path / "run")
    others = ({**line, "trace_id": f"other{line['trace_id']}"} for line in tool_lines(traces=TRACES, groups=GROUPS))
    elsewhere = write_lines(tmp_path / "others.jsonl", others)
    entry = BenchEntry(name=f"model:{tmp_path / 'run'}", label="mine")
    for path, told in (
        (
            samples,
            [f"mine: the model was trained on {TRACES} of {TRACES} traces checked: {SEEN}"],
        ),
        (elsewhere, []),
    ):
        found = run_bench(config(path, entry, "random"), tmp_path / f"out-{path.name}")
        assert [warning for warning in found.record.warnings if "trained" in warning] == told
        assert document(tmp_path / f"out-{path.name}")["warnings"] == found.record.warnings


def test_no_label_reaches_a_reranker_but_the_references(samples, tmp_path):
    other = write_lines(
        tmp_path / "o.jsonl", ({**line, "label": 1} for line in tool_lines(traces=TRACES, groups=GROUPS))
    )
    save_run(RunConfig(encoder="hash", data=DataConfig(train=str(samples))), tmp_path / "run")
    names = ("bm25", "hash", "random", f"model:{tmp_path / 'run'}")
    ours, theirs = (run_bench(config(path, *names), tmp_path / f"out-{path.name}") for path in (samples, other))
    assert [each.scores for each in ours.measurements] == [each.scores for each in theirs.measurements]


def test_a_bench_is_refused_while_another_is_at_work_there(samples, tmp_path):
    from ltr.files import locked

    with locked(tmp_path / "out"), pytest.raises(RunError, match="another process"):
        run_bench(config(samples, "random"), tmp_path / "out")


def test_what_would_end_a_cell_or_move_a_terminal_is_written_out(samples, tmp_path):
    run_bench(config(samples, BenchEntry(name="random", label="a\tb\u202e")), tmp_path / "out")
    assert (tmp_path / "out" / "cost.tsv").read_text().splitlines()[1].split("\t")[0] == "a\\tb\\u202e"


def test_the_kept_config_gives_the_same_bench_from_elsewhere(samples, tmp_path):
    save_run(RunConfig(encoder="hash", data=DataConfig(train=str(samples))), tmp_path / "run")
    text = "data: {samples: s.jsonl}\nrerankers: [random, 'model:run']\n"
    first = run_bench(load_bench(written(tmp_path, text)), tmp_path / "out")
    again = run_bench(load_bench(tmp_path / "out" / "config.yaml"), tmp_path / "deep" / "out")
    assert [each.quality for each in again.record.rerankers] == [each.quality for each in first.record.rerankers]
    assert [each.name for each in again.record.rerankers] == ["random", "model:run"]
    assert str(tmp_path) not in (tmp_path / "out" / "bench.json").read_text()


def test_a_path_of_a_flag_is_relative_to_where_the_command_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "b.yaml"
    path.write_text("data: {samples: s.jsonl, tools: t.json}\nrerankers: ['model:run', bm25]\n")
    found = load_bench(path, ["data.tools=u.json", "rerankers[1]=model:own"])
    assert found.data == BenchData(samples=(str(tmp_path / "deep" / "s.jsonl"),), tools="u.json")
    assert [each.name for each in found.entries] == [f"model:{tmp_path / 'deep' / 'run'}", "model:own"]


def test_a_program_takes_part_when_allowed_and_its_arguments_are_told(samples, tmp_path):
    from tests.test_rerankers import ANSWERING

    told = []
    entry = BenchEntry(name="command", options={"arguments": [sys.executable, "-c", ANSWERING]})
    bench = run_bench(config(samples, entry), tmp_path / "out", allowed=Allowed(command=True), on_event=told.append)
    assert told[0].what == "runs"
    assert repr(sys.executable) in told[0].detail
    assert bench.record.rerankers[0].quality["mrr"].mean > 0


WRONG = """\
nmae: x
data: {samples: s.jsonl, tool: t.json}
sample: 0
rerankers:
  - bm52
  - {name: bm25, options: {k: 3, b: 2}}
  - {name: hash, price_per_query: -1}
  - random
  - random
metrics: [ndcg@10, ndgc@5, auc]
cost_weight: -1
"""


def test_a_config_says_all_that_is_wrong_with_it_and_where(tmp_path):
    path = written(tmp_path, WRONG)
    with pytest.raises(ConfigError) as caught:
        load_bench(path)
    said = [str(problem).removeprefix(str(path)) for problem in caught.value.problems]
    for place, what in [
        (":1:1:", "nmae: unknown key; did you mean name?"),
        (":2:26:", "data.tool: unknown key; did you mean tools?"),
        (":5:5:", "unknown reranker 'bm52'; did you mean bm25?"),
        (":6:5:", "reranker bm25 has no option 'k'; did you mean k1?"),
        (":6:5:", "reranker bm25: b is 2; a number from 0 to 1 is needed"),
        (":7:18:", "price_per_query: -1.0 is below 0"),
        (":9:5:", "random stands twice; give one of them another label"),
        (":10:20:", "unknown metric 'ndgc@5'"),
        (":10:28:", "auc is not measured query by query"),
        (":11:1:", "cost_weight: -1.0 is below 0"),
    ]:
        assert any(line.startswith(place) and what in line for line in said), (place, what, said)


@pytest.mark.parametrize(
    "text, problem",
    [
        ("rerankers: [random]\n", "data.samples: is missing"),
        ("data: {samples: s.jsonl}\n", "rerankers: is empty"),
        ("data: {samples: s.jsonl}\nrerankers: [random]\nsample: 0\n", "sample: is 0; at least 1 is needed"),
        (
            "data: {samples: s.jsonl}\nrerankers: [{name: random, price_per_query: 1e300}]\n",
            r"price_per_query: 1e\+300 is above 1e\+15",
        ),
        ("data: {samples: s.jsonl}\nrerankers: [random]\nwarm_up: 0\n", "warm_up: is 0; at least 1 is needed"),
    ],
)
def test_a_config_that_cannot_be_is_refused(text, problem, tmp_path):
    with pytest.raises(ConfigError, match=problem):
        load_bench(written(tmp_path, text))


def test_data_without_a_right_candidate_cannot_be_measured(tmp_path):
    path = write_lines(tmp_path / "s.jsonl", ({**line, "label": 0} for line in tool_lines()))
    with pytest.raises(DataError, match="no candidate has a label of 1 or more"):
        run_bench(config(path, "random"), tmp_path / "out")


def test_a_sample_without_a_right_candidate_cannot_be_measured(tmp_path):
    rows = ({**line, "label": line["label"] * (line["trace_id"] == "t0")} for line in tool_lines(traces=50))
    path = write_lines(tmp_path / "s.jsonl", rows)
    with pytest.raises(DataError, match="no candidate of the queries that were drawn has a label of 1 or more"):
        run_bench(config(path, "random", sample=1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_sample_greater_than_the_data_is_all_of_them_and_told(samples, tmp_path):
    found = run_bench(config(samples, "random", sample=1000), tmp_path / "out")
    assert found.record.warnings[0] == "sample asks for 1,000 queries; all 30 of the data were asked"
    assert found.record.sampled is False


def test_one_query_has_no_interval(cli, tmp_path):
    samples = write_lines(tmp_path / "one.jsonl", list(tool_lines(traces=1, groups=1)))
    path = written(tmp_path, f"name: one\ndata: {{samples: {samples}}}\nrerankers: [random, bm25, hash]\n")
    out = cli.good("bench", path, "--format", "human")
    assert out.splitlines()[3].split()[-1] == "-"
    assert " - over " in next(line for line in out.splitlines() if line.startswith("best quality"))
    kept = json.loads((tmp_path / "runs" / "one" / "bench.json").read_text())
    assert kept["rerankers"][0]["quality"]["ndcg@10"]["low"] is None
    assert kept["comparisons"][0]["high"] is None
    write_report([tmp_path / "runs" / "one"], tmp_path / "page.html")


def test_the_command_shows_three_tables_and_what_to_choose(cli, samples, tmp_path):
    path = written(tmp_path, f"name: small\ndata: {{samples: {samples}}}\nrerankers: [random, bm25, 'model:no']\n")
    assert cli.run("bench", path, "--dry-run") == 0
    assert "warning: model:no: would be left out: " in cli.err
    assert cli.err.endswith("good; 2 of 3 rerankers, kept in runs/small/\n")
    assert not (tmp_path / "runs").exists()
    out = cli.good("bench", path, "--format", "human")
    assert out.startswith("30 queries, 120 documents\nquality")
    for part in ("latency, ms", "cold start", "docs/s", "per document", "best quality: bm25", "model:no: left out:"):
        assert part in out
    assert "p99_ms of 30 times are estimates from the slowest" in cli.err
    assert (tmp_path / "runs" / "small" / "bench.json").exists()
    code, said = cli.refused("bench", path)
    assert (code, said.startswith("runs/small: holds a bench")) == (2, True)
    assert cli.refused("bench", path, "--dry-run") == (code, said)
    assert cli.run("bench", path, "--dry-run", "--resume") == 0
    assert cli.run("bench", path, "--dry-run", "--resume", "--seed", "1") == 5
    rows = cli.good("bench", path, "--resume", "--format", "tsv", "-q").splitlines()
    assert rows[0].split("\t")[:2] == ["reranker", "ndcg@1"]
    assert [row.split("\t")[0] for row in rows] == ["reranker", "random", "bm25"]
    assert len({len(row.split("\t")) for row in rows}) == 1


def test_rerankers_are_listed(cli):
    listed = cli.good("list", "rerankers", "--format", "tsv")
    assert "cross-encoder:NAME_OR_PATH\t" in listed


MEASURES = """
from ltr.evaluation import measure

from ltr.evaluation import named

for name in ("reranker", "latency_ms", "rank", "n"):
    measure(name, "the same as hit@1")(lambda judged, k: named("hit@1")(judged))
"""


def test_a_metric_of_any_name_overwrites_no_field(samples, tmp_path):
    names = "[reranker, latency_ms, rank, n, hit@1]"
    (tmp_path / "measures.py").write_text(MEASURES, encoding="utf-8")
    path = written(tmp_path, f"data: {{samples: {samples}}}\nrerankers: [bm25]\nmetrics: {names}\n")
    done = warm.command("bench", path, "-o", "out", "--code", tmp_path / "measures.py", "--format", "tsv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    heads = done.stdout.decode().splitlines()[0].split("\t")
    assert len(heads) == len(set(heads))
    assert {"reranker", "metric:reranker", "metric:n", "n"} <= set(heads)
    for line in lines(tmp_path / "out" / "per_query.jsonl"):
        metrics = line["metrics"]
        assert {metrics[name] for name in ("reranker", "latency_ms", "rank", "n")} == {metrics["hit@1"]}
        assert line["reranker"] == "bm25"
        assert isinstance(line["rank"], int)
        assert line["latency_ms"] not in metrics.values()
