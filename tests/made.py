"""Small data that tests make for themselves, and the command line in process."""

import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from pathlib import Path
from unittest import mock

import pytest

import ltr
from ltr import errors
from ltr.__main__ import main

PARTLY_SEEN = (
    "these figures are partly of queries whose answers it has seen, and say little of new ones; measure on traces "
    "that it has not seen, such as those that `ltr train --test 0.2` keeps apart"
)
SEEN = PARTLY_SEEN.replace("are partly of", "are of")
RAISED = {1: "RunError", 2: "UsageError", 3: "DataError", 4: "ThresholdError", 5: "ResumeError", 74: "DiskError"}
ToldError = {  # what a message on stderr stands for, whatever the error itself is made of
    code: type(name, (getattr(errors, name),), {"__init__": Exception.__init__, "__str__": Exception.__str__})
    for code, name in RAISED.items()
}
DEFAULTS = ltr.RunConfig()
DataConfig, EvaluateConfig, EngineConfig, NoneConfig, AbstainConfig = (  # the tables of a config have no public names
    type(table) for table in (DEFAULTS.data, DEFAULTS.evaluate, DEFAULTS.engine, DEFAULTS.none, DEFAULTS.abstain)
)
WORDS = ("weather", "news", "stock", "map", "mail", "calendar", "music", "photo", "movie", "train")


def tool_rows(traces, *, seed=0, labels=True):
    """Two groups a trace, five tools each; the query names the right one but for every fourth."""
    generator = random.Random(seed)
    for trace in traces:
        for node in range(2):
            offered = generator.sample(WORDS, 5)
            right = generator.choice(offered)
            asked = right if generator.random() < 0.75 else "anything"
            for word in offered:
                yield {
                    "trace_id": f"t{trace}",
                    "node_id": f"n{node}",
                    "query": f"what is the {asked} in city {trace}?",
                    "tool": f"get_{word}",
                    "tool_description": f"gives the {word} of a place",
                } | ({"label": int(word == right)} if labels else {})


def graph_rows(traces, *, seed=0, labels=True):
    """One group a trace, four graphs each; larger ones tend to be right."""
    generator = random.Random(seed)
    for trace in traces:
        sizes = [generator.randrange(1, 7) for _ in range(4)]
        for place, size in enumerate(sizes):
            nodes = [{"id": node, "name": f"agent {node} of {trace % 5}"} for node in range(size)]
            tree = {"nodes": nodes, "edges": [[node, node + 1] for node in range(size - 1)]}
            yield {
                "trace_id": f"t{trace}",
                "node_id": "n",
                "query": f"solve task {trace} with several agents",
                "candidate_id": f"g{place}",
                "candidate_type": ("chain", "star")[size % 2],
                "tree": tree,
            } | ({"label": int(place == sizes.index(max(sizes)))} if labels else {})


ROWS = {"tool": tool_rows, "graph": graph_rows}


def written(path, rows):
    """The path, once the rows lie there as JSONL."""
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def save_run(config, directory, *, overwrite=False):
    """Make the run of a config, as `ltr run` does; the result is its directory."""
    directory = Path(directory)
    if overwrite:
        shutil.rmtree(directory, ignore_errors=True)
    (ended,), _ = ltr.run_batch([replace(config, name=directory.name)], directory.parent)
    if ended.error is not None:
        raise ended.error
    return directory


def told(*arguments):
    """Return what a command prints, run in this process; what it refuses is raised, by its exit code."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.object(sys, "argv", ["ltr", *map(str, arguments)]),
        mock.patch("signal.signal"),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as done,
    ):
        main()
    if code := done.value.code:
        raise ToldError[code](err.buffer.getvalue().decode().rpartition("error: ")[2].strip())
    return out.buffer.getvalue().decode()


def featurized(config, out, **options):
    """Write the columns of a config, as `ltr featurize` does; options are flags."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(asdict(config), file)
        file.flush()
        flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items() if value is not True]
        flags += [f"--{name.replace('_', '-')}" for name, value in options.items() if value is True]
        train = [config.data.train] if isinstance(config.data.train, str) else config.data.train
        return told("featurize", *train, "-c", file.name, "-o", out, *flags)


def page_of(directories, *, name="page.html", made=""):
    """Return the page of runs, or the card of one where the name ends in .md."""
    with tempfile.TemporaryDirectory() as folder:
        ltr.write_report(directories, Path(folder, name), made=made)
        return Path(folder, name).read_text(encoding="utf-8")


def grouped(rows):
    """The same samples, a group a line."""
    groups = {}
    for row in rows:
        row = dict(row)
        key = {name: row.pop(name) for name in ("trace_id", "node_id", "query")}
        groups.setdefault(tuple(key.values()), key | {"candidates": []})["candidates"].append(row)
    return list(groups.values())


class Commands:
    """ltr in this process: run(...) gives the exit code; what it wrote is in `out` and `err`."""

    def __init__(self, monkeypatch, capfd):
        self._monkeypatch, self._capfd = monkeypatch, capfd
        self.out = self.err = ""

    def run(self, *arguments):
        self._monkeypatch.setattr(sys, "argv", ["ltr", *map(str, arguments)])
        self._monkeypatch.setattr("signal.signal", lambda *_: None)
        with pytest.raises(SystemExit) as done:
            main()
        self.out, self.err = self._capfd.readouterr()
        return done.value.code

    def on_terminal(self, columns):
        """From here on stdout is a terminal of that many columns."""
        self._monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True, raising=False)
        self._monkeypatch.setenv("COLUMNS", str(columns))

    def good(self, *arguments):
        """stdout of a command that must succeed."""
        assert self.run(*arguments) == 0, self.err
        return self.out

    def refused(self, *arguments):
        """Exit code and the one line on stderr of a command that must fail, with nothing on stdout."""
        code = self.run(*arguments)
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("error: ")
        return code, self.err[7:-1]


ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHON"))} | {
    "PYTHONPATH": str(Path(ltr.__file__).parents[1]),
    "LC_ALL": "C.UTF-8",
}


def process(*arguments, environment=None, **options):
    """ltr in a process of its own."""
    command = [sys.executable, "-m", "ltr", *map(str, arguments)]
    return subprocess.run(
        command, env=ENVIRONMENT | (environment or {}), capture_output=True, check=False, timeout=60, **options
    )


def damaged(generator, content):
    """One of: some bits flipped, cut, bytes doubled, a piece of JSON replaced."""
    match generator.randrange(4):
        case 0:
            changed = bytearray(content)
            for _ in range(generator.randrange(1, 4)):
                changed[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            return bytes(changed)
        case 1:
            return content[: generator.randrange(len(content))]
        case 2:
            start = generator.randrange(len(content))
            return content[:start] + content[start : start + 9] + content[start:]
    raw = [b"null", b"[]", b"1e999", b"NaN", b'"x"', b"[" * 5000, b"9" * 400, b'"\\ud800"', b'{"a":1}', b"-1"]
    start = generator.randrange(len(content))
    return content[:start] + generator.choice(raw) + content[start + generator.randrange(9) :]


def document(home, name):
    """What lies in a file of a run: an object, or the objects of its lines."""
    text = Path(home, name).read_text(encoding="utf-8")
    return json.loads(text) if name.endswith(".json") else [json.loads(line) for line in text.splitlines()]


def close(found, expected, place="", *, rel=1e-7, abs=1e-9):
    """Whether numbers, in whatever they are nested, agree to the last digits, and all else is equal."""
    if isinstance(expected, dict):
        assert set(found) == set(expected), place
        for key, value in expected.items():
            close(found[key], value, f"{place}.{key}", rel=rel, abs=abs)
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            close(one, other, f"{place}[{number}]", rel=rel, abs=abs)
    elif isinstance(expected, float):
        assert found == pytest.approx(expected, rel=rel, abs=abs), place
    else:
        assert found == expected, place


def fold_indices(groups, folds, *, seed, by):
    """The places of both sides of each fold of groups in memory."""
    from ltr.samples import Whole
    from ltr.splits import fold_sides

    for learned, measured in fold_sides(Whole(groups), folds, seed=seed, by=by):
        yield learned.holds(groups.candidates), measured.holds(groups.candidates)


def diagnose(phi, labels, offsets, config, model, *, weights=None, score_offset=None, **more):
    """Diagnose a model of arrays."""
    from ltr import training

    return training.diagnose((training.Design(phi, labels, offsets, weights, score_offset),), config, model, **more)


def exact_path(phi, labels, offsets, config, *, weights=None, score_offset=None, **more):
    """The optimum of arrays for each l2 of the config, in its order and in the raw scale."""
    from ltr import training

    designs = (training.Design(phi, labels, offsets, weights, score_offset),)
    return training.optima_along(designs, training.Terms.of(phi, config), config, **more)
