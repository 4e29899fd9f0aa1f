"""Small mistakes in the code that computes, and in the writer: how many of them a test finds.

Each mutant is tried in a fork of one process that has loaded all tests: those that reach its lines run, the quickest
first, until one fails. One that no test finds is named; where it changes nothing that anybody could see,
stresses/equivalent_mutants.txt says why. A mutant that runs into a limit of time or memory is found as well.
"""

import fnmatch
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from stresses import mutated_code
from stresses.cases import Cases, Figure
from subcommands import ROOT

METRICS = (
    *("test_metrics", "test_oracles", "test_ties", "test_interpretation", "test_classified", "test_lists"),
    *("test_ranking", "test_shard_evaluation", "test_evaluate_run", "test_none"),
)
WRITER = ("test_files", "test_replacing", "test_run_files", "test_run_directory")
OF_METRICS = ("candidate_counts", "cascade", "classified", "interpretation", "probabilities", "ranked", "tie_blocks")
TESTS = {  # of each module
    "training/objective": ("test_objective", "test_training_shards", "test_score_offset", "test_fit", "test_diagnosis"),
    "evaluation/ranking": METRICS,
    "evaluation/ties": METRICS,
    **{f"evaluation/metrics/{name}": METRICS for name in OF_METRICS},
    "evaluation/significance": ("test_significance", "test_compare"),
    "evaluation/bootstrap": ("test_bootstrap", "test_compare"),
    "training/curves": ("test_curves",),
    "features/crossfit": ("test_crossfit", "test_counted", "test_features", "test_crossfit_shards"),
    "training/temperature": ("test_abstaining", "test_none"),
    "evaluation/abstention": ("test_abstaining",),
    "reporting/calibration": ("test_report", "test_interpretation", "test_abstaining"),
    "files/atomic_write": WRITER,
    "files/replacing": WRITER,
}
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.txt")  # module, mutant, reason: a line each, by tabs
CPU_SECONDS, WALL_SECONDS, MEMORY = 20, 240, 3 << 30
FOUND, SURVIVES, NOT_APPLIED = "found", "survives", "not applied"


def options(parser):
    """Options of the command line."""
    parser.add_argument("modules", nargs="*", help=f"patterns of names: {', '.join(TESTS)} (default: all)")


def main(*, modules):
    """A line a module, and the mutants that survive."""
    chosen = [name for name in TESTS if any(fnmatch.fnmatch(name, pattern) for pattern in modules or ["*"])]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    known, rows, survivors = equivalent(), [], []
    for name in chosen:
        counts = tried(name)
        survive = counts.pop(SURVIVES, [])
        of_module = [mutant for mutant in survive if (name, mutant) not in known]
        survivors += [(name, mutant) for mutant in of_module]
        rows.append((len(counts.get(FOUND, [])), len(survive) - len(of_module), len(of_module)))
        found, same, left = rows[-1]
        print(
            f"{name:38} {found + same + left:5} mutants {found:5} found {same:4} equivalent {left:4} survive",
            flush=True,
        )
    for name, mutant in survivors:
        print(f"  {name}: {mutant}")
    found, _, left = (sum(column) for column in zip(*rows, strict=True))
    share = found / max(found + left, 1)
    return Figure(f"{share:.1%} of {found + left} mutants that are not equivalent are found", share >= 0.9)


def equivalent():
    """Module and mutant of each that changes nothing."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    return {tuple(line.split("\t")[:2]) for line in lines}


def tried(name):
    """The mutants of a module by what became of them, from one process that runs its tests."""
    path, tests = ROOT / "ltr" / f"{name}.py", [ROOT / "tests" / f"{test}.py" for test in TESTS[name]]
    cases, outcomes = Cases("mutants", f"{name} {path.read_text(encoding='utf-8')}"), defaultdict(list)
    cases.entries = {case: entry for case, entry in cases.entries.items() if entry["outcome"] != SURVIVES}
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            run = Run(name, path, cases)
            silence()
            arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
            pytest.main([*arguments, "--doctest-modules", str(path), *map(str, tests)], plugins=[run])
            os.write(write, (run.problem or "").encode()[:60_000])
        finally:
            os._exit(0)
    os.close(write)
    problem = b"".join(iter(lambda: os.read(read, 1 << 16), b"")).decode()
    os.waitpid(child, 0)
    if problem:
        raise RuntimeError(f"{name}: {problem}")
    for mutant, outcome in stored(cases).items():
        outcomes[outcome].append(mutant)
    return outcomes


def stored(cases):
    """What the child wrote down: of each mutant the last outcome, as new tests may find what survived earlier."""
    entries = [json.loads(line) for line in cases.path.read_text(encoding="utf-8").splitlines()[1:]]
    return {entry["case"][0]: entry["outcome"] for entry in entries}


def silence():
    """What tests print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


class Run:
    """A pytest plug-in that runs the tests once, noting the lines they reach, and then again for each mutant."""

    def __init__(self, name, path, cases):
        self.name, self.path, self.cases = name, path, cases
        self.reached, self.seconds, self.problem = defaultdict(set), [], "no test was collected"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Instead of the tests: the mutants."""
        self.problem = None
        if session.testsfailed or not session.items:
            self.problem = "its tests cannot be collected"
            return True
        for index, item in enumerate(session.items):
            begin = time.process_time()
            if not self.passes(index, item, session.items[index + 1] if index + 1 < len(session.items) else None):
                self.problem = f"{item.nodeid} fails without a mutant"
                return True
            self.seconds.append(time.process_time() - begin)
        self.try_all(session)
        return True

    def passes(self, index, item, following):
        """Whether a test passes; which lines of the module it reaches is noted."""
        path, lines = str(self.path), set()

        def of_line(frame, event, argument):
            lines.add(frame.f_lineno)
            return of_line

        sys.settrace(lambda frame, event, argument: of_line if frame.f_code.co_filename == path else None)
        try:
            reports = runtestprotocol(item, nextitem=following, log=False)
        finally:
            sys.settrace(None)
        for line in lines:
            self.reached[line].add(index)
        return not any(report.failed for report in reports)

    def try_all(self, session):
        """Each mutant in a fork."""
        source = self.path.read_text(encoding="utf-8")
        module = importlib.import_module("ltr." + self.name.replace("/", "."))
        known = {mutant.id: mutant for mutant in mutated_code.mutants(source)}
        functions = mutated_code.loaded([module.__file__])[module.__file__]
        gc.freeze()

        def outcome(name):
            chosen = self.tests_of(known[name])
            if not chosen:
                return SURVIVES
            items = [session.items[index] for index in chosen]
            return in_fork(session, items, lambda: mutated_code.apply(known[name], source, module, functions))

        for _ in self.cases.outcomes(((name,) for name in known), outcome):
            pass

    def tests_of(self, mutant):
        """The tests that reach a line of it, quickest first; a constant is reached by all that reach the module."""
        lines = self.reached if mutant.kind != "body" else mutant.lines
        reaching = set().union(*(self.reached.get(line, ()) for line in lines))
        return sorted(reaching, key=self.seconds.__getitem__)


def in_fork(session, items, change):
    """What becomes of the mutant."""
    folder = Path(tempfile.mkdtemp(prefix="mutant"))
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            session.config._tmp_path_factory._basetemp = folder
            code = tests_end(items, change)
        finally:
            os._exit(code)
    status = ended(child, time.monotonic() + WALL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    return {0: SURVIVES, 3: NOT_APPLIED}.get(status, FOUND)


def tests_end(items, change):
    """0 when every test passes with the change, 1 when one fails, 3 when it cannot be made."""
    try:
        if not change():
            return 3
    except Exception:
        return 3
    forget_results()
    for item in items:
        if any(report.failed for report in runtestprotocol(item, nextitem=None, log=False)):
            return 1
    return 0


def forget_results():
    """Empty what functions of ltr remember of earlier calls."""
    from functools import _lru_cache_wrapper

    for thing in gc.get_objects():
        if isinstance(thing, _lru_cache_wrapper) and (thing.__module__ or "").startswith("ltr"):
            thing.cache_clear()


def ended(child, deadline):
    """The exit code of a child, negative for a signal; all that it started is killed with it."""
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            kill_group(child)
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    kill_group(child)
    os.waitpid(child, 0)
    return -signal.SIGKILL


def kill_group(child):
    """End what is left of its group."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        return
