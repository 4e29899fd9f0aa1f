"""Small mistakes in the code that computes, and in the writer: how many of them a test finds.

Each mutant is tried in a fork of one process that has loaded all tests: those that reach its lines run, the quickest
first, until one fails. One that no test finds is named; where it changes nothing that anybody could see,
stresses/equivalent_mutants.yaml says why. A mutant that runs into a limit of time or memory is found as well.
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
from functools import partial
from pathlib import Path

import pytest
import yaml
from _pytest.runner import runtestprotocol

from stresses import mutated_code
from stresses.cases import Cases, Figure
from subcommands import ROOT

METRICS = (
    *("test_metrics", "test_oracles", "test_tied_ranks", "test_interpretation", "test_classified", "test_lists"),
    *("test_ranking", "test_shard_evaluation"),
)
WRITER = ("test_files", "test_output_replacement")
OF_METRICS = (
    "classification_counts",
    "expected_reciprocal_rank",
    "classification_measures",
    "calibration",
    "interpretation",
    "candidate_probabilities",
    "ranking_measures",
    "tie_blocks",
)
OBJECTIVE = ("test_objective", "test_training_shards", "test_score_offset", "test_fit", "test_diagnosis")
CROSSFIT = (
    *("test_crossfit", "test_counted", "test_features", "test_crossfit_shards", "test_cached_encoder"),
    *("test_prepared", "test_state_types", "test_shortlist", "test_cli_plugins", "test_plugins"),
)
TESTS = {  # of each module
    "training/objective": OBJECTIVE,
    "training/trainable": OBJECTIVE,
    "training/passes_over_groups": OBJECTIVE,
    "training/group_sample": OBJECTIVE,
    "evaluation/ranking": METRICS,
    "evaluation/tied_ranks": METRICS,
    **{f"evaluation/metrics/{name}": METRICS for name in OF_METRICS},
    "evaluation/significance": ("test_significance",),
    "evaluation/bootstrap": ("test_bootstrap",),
    "training/piecewise_linear_curves": ("test_piecewise_linear_curves",),
    "training/feature_products": ("test_products", "test_training_shards"),
    "training/significant_gain_rule": ("test_recommended_choice",),
    "training/one_standard_error": ("test_recommended_choice",),
    "features/crossfit": CROSSFIT,
    "features/fitted_features": CROSSFIT,
    "features/learned_states": CROSSFIT,
    "training/temperature": ("test_temperature", "test_abstaining"),
    "evaluation/abstention_threshold": ("test_abstaining",),
    "reporting/ranks_and_calibration_section": ("test_calibration", "test_report"),
    "files/atomic_write": WRITER,
    "files/filesystem_operations": WRITER,
    "files/output_replacement": WRITER,
}
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")  # of each module: mutant, reason
CPU_SECONDS, TIMES = 5, 3  # that a mutant has, and as often the time that its tests took
WALL_SECONDS, MEMORY = 600, 3 << 30  # of a mutant; bytes more than the tests have
LEAST = 0.9  # share of the mutants that are found
FOUND, SURVIVES, NOT_APPLIED = "found", "survives", "not applied"


def options(parser):
    """Options of the command line."""
    parser.add_argument("modules", nargs="*", help=f"patterns of names: {', '.join(TESTS)} (default: all)")


def main(*, modules):
    """A line a module, and the mutants that survive."""
    chosen = [name for name in TESTS if any(fnmatch.fnmatch(name, pattern) for pattern in modules or ["*"])]
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    known, rows, survivors = equivalent(), [], []
    for tests in dict.fromkeys(TESTS[name] for name in chosen):
        for name, counts in tried([name for name in chosen if TESTS[name] == tests], tests).items():
            same = [mutant for mutant in counts[SURVIVES] if (name, mutant) in known]
            survivors += [(name, mutant) for mutant in counts[SURVIVES] if (name, mutant) not in known]
            found, left = len(counts[FOUND]), len(counts[SURVIVES]) - len(same)
            rows.append((found, left))
            line = f"{name:36} {found + len(same) + left:4} mutants {found:4} found {len(same):3} equivalent"
            print(f"{line} {left:3} survive; {len(counts[NOT_APPLIED])} could not be made", flush=True)
    for name, mutant in survivors:
        print(f"  {name}: {mutant}")
    found, left = (sum(column) for column in zip(*rows, strict=True))
    share = found / max(found + left, 1)
    return Figure(f"{share:.1%} of {found + left} mutants that are not equivalent are found", share >= LEAST)


def equivalent():
    """Module and mutant of each that changes nothing."""
    reasons = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8"))
    return {(name, mutant) for name, mutants in reasons.items() for mutant in mutants}


def tried(names, tests):
    """The mutants of each module by what became of them, from one process that runs their tests."""
    modules = [Module(name) for name in names]
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            run = Run(modules)
            silence()
            paths = [*(str(module.path) for module in modules), *(str(ROOT / "tests" / f"{test}.py") for test in tests)]
            arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts="]
            pytest.main([*arguments, "--doctest-modules", *paths], plugins=[run])
            os.write(write, json.dumps([run.problem, run.names_left_out]).encode())
        finally:
            os._exit(0)
    os.close(write)
    said = b"".join(iter(lambda: os.read(read, 1 << 16), b""))
    os.waitpid(child, 0)
    problem, left_out = json.loads(said or b'["the process that runs the tests ended", []]')
    if problem:
        raise RuntimeError(f"{', '.join(names)}: {problem}")
    for test in left_out:
        print(f"left out, as it fails without a mutant when it runs twice in one process: {test}")
    return {module.name: stored(module.cases) for module in modules}


class Module:
    """A module, and what became of its mutants earlier; those that survived without a reason are tried again."""

    def __init__(self, name):
        self.name, self.path = name, ROOT / "ltr" / f"{name}.py"
        self.source = self.path.read_text(encoding="utf-8")
        self.cases = Cases("mutants", f"{name} {self.source}")
        known, entries = equivalent(), self.cases.entries.items()
        self.cases.entries = {
            case: entry for case, entry in entries if entry["outcome"] == FOUND or (name, entry["case"][0]) in known
        }


def stored(cases):
    """What the child wrote down: mutants by their last outcome, as new tests may find what survived earlier."""
    entries = [json.loads(line) for line in cases.path.read_text(encoding="utf-8").splitlines()[1:]]
    outcomes = defaultdict(list)
    for mutant, outcome in {entry["case"][0]: entry["outcome"] for entry in entries}.items():
        outcomes[outcome].append(mutant)
    return outcomes


def silence():
    """What tests print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


class Run:
    """A pytest plug-in that runs the tests once, noting the lines they reach, and then again for each mutant."""

    def __init__(self, modules):
        self.modules, self.seconds, self.problem = modules, [], "no test was collected"
        self.left_out, self.names_left_out = set(), []
        self.reached = {str(module.path): defaultdict(set) for module in modules}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Instead of the tests: the mutants."""
        self.problem = None
        if session.testsfailed or not session.items:
            self.problem = "the tests cannot be collected"
            return True
        for index, item in enumerate(session.items):
            begin = time.process_time()
            if not self.passes(index, item, session.items[index + 1] if index + 1 < len(session.items) else None):
                self.left_out.add(index)
            self.seconds.append(time.process_time() - begin)
        self.left_out |= failing_in_fork(session)
        self.names_left_out = [session.items[index].nodeid for index in sorted(self.left_out)]
        for module in self.modules:
            self.try_all(session, module)
        return True

    def passes(self, index, item, following):
        """Whether a test passes; which lines of the modules it reaches is noted."""
        reached, names = self.reached, dict(item.dtest.globs) if hasattr(item, "dtest") else None  # a doctest drops its

        def of_line(frame, event, argument):
            reached[frame.f_code.co_filename][frame.f_lineno].add(index)
            return of_line

        sys.settrace(lambda frame, event, argument: of_line if frame.f_code.co_filename in reached else None)
        try:
            reports = runtestprotocol(item, nextitem=following, log=False)
        finally:
            sys.settrace(None)
        if names is not None:
            item.dtest.globs.update(names)
        return not any(report.failed for report in reports)

    def try_all(self, session, of):
        """Each mutant of a module in a fork."""
        module = importlib.import_module("ltr." + of.name.replace("/", "."))
        known = {mutant.id: mutant for mutant in mutated_code.mutants(of.source)}
        gc.unfreeze()  # what the collector does not look at is in no list of it; tests freeze, too
        functions, caches = mutated_code.loaded([module.__file__])[module.__file__], results_of_calls()
        gc.freeze()

        def outcome(name):
            tests = self.tests_of(known[name], str(of.path))
            items = [session.items[index] for index in tests]
            seconds = CPU_SECONDS + round(TIMES * sum(self.seconds[index] for index in tests))
            change = partial(mutated_code.apply, known[name], of.source, module, functions)
            return in_fork(session, items, change, caches, seconds) if items else SURVIVES

        for _ in of.cases.outcomes(((name,) for name in known), outcome):
            pass
        gc.unfreeze()

    def tests_of(self, mutant, path):
        """The tests that reach a line of it, quickest first; a constant is reached by all that reach the module."""
        reached = self.reached[path]
        lines = list(reached) if mutant.kind != "body" else mutant.lines
        reaching = set().union(*(reached.get(line, ()) for line in lines)) - self.left_out
        return sorted(reaching, key=self.seconds.__getitem__)


def in_fork(session, items, change, caches, seconds):
    """What becomes of the mutant."""
    folder = Path(tempfile.mkdtemp(prefix="mutant"))
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            limit_memory()
            session.config._tmp_path_factory._basetemp = folder
            code = tests_end(items, change, caches)
        finally:
            os._exit(code)
    status = ended(child, time.monotonic() + WALL_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)
    return {0: SURVIVES, 3: NOT_APPLIED}.get(status, FOUND)


def failing_in_fork(session):
    """The tests that fail in a fork without a mutant, such as those that cannot run twice in one process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        for index, item in enumerate(session.items):
            if any(report.failed for report in runtestprotocol(item, nextitem=None, log=False)):
                os.write(write, f"{index}\n".encode())
        os._exit(0)
    os.close(write)
    failing = b"".join(iter(lambda: os.read(read, 1 << 16), b""))
    os.waitpid(child, 0)
    return set(map(int, failing.split()))


def limit_memory():
    """Let this process take so much more than it has, where the system tells how much that is."""
    pages = Path("/proc/self/statm")
    if pages.exists():
        most = int(pages.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def tests_end(items, change, caches):
    """0 when every test passes with the change, 1 when one fails, 3 when it cannot be made."""
    try:
        if not change():
            return 3
    except Exception:
        return 3
    for cache in caches:
        cache.cache_clear()
    for item in items:
        if any(report.failed for report in runtestprotocol(item, nextitem=None, log=False)):
            return 1
    return 0


def results_of_calls():
    """What remembers the results of a function of ltr."""
    from functools import _lru_cache_wrapper

    caches = [thing for thing in gc.get_objects() if isinstance(thing, _lru_cache_wrapper)]
    return [cache for cache in caches if (cache.__module__ or "").startswith("ltr")]


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
