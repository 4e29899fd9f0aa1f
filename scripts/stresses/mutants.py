"""Small mistakes in the code that computes, and in the writer: how many of them a test finds.

A comparison, a sign, a constant, a condition, a default or a statement is changed; texts, errors and annotations are
not. Each mutant is compiled from the changed syntax tree and put into the loaded functions, in a fork of one process
that has loaded all tests: those that reach its lines run, the quickest first, until one fails. One that no test finds
is named; where it changes nothing that anybody could see, stresses/equivalent_mutants.yaml says why. A mutant that runs
into a limit of time or memory is found as well.
"""

import ast
import contextlib
import copy
import fnmatch
import functools
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
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType

import pytest
import yaml
from _pytest.runner import runtestprotocol

from processes import memory_mb
from stresses.attacks import Cases, Figure, finished, fork
from subcommands import ROOT

MEASURES = "metrics oracles tied_ranks interpretation classified lists ranking shard_evaluation"
OBJECTIVE = "objective training_shards score_offset fit diagnosis"
CROSSFIT = "crossfit counted features crossfit_shards cached_encoder prepared state_types shortlist cli_plugins plugins"
OF_MEASURES = ("ranking", "ties", "measures", "cascade", "classification", "probabilities", "interpretation")
SUITES = {  # modules, by the tests that must find a mistake in them
    OBJECTIVE: "training/objective training/designs training/groups",
    MEASURES: " ".join(f"evaluation/{name}" for name in OF_MEASURES),
    "significance": "evaluation/significance",
    "bootstrap": "evaluation/bootstrap",
    "piecewise_linear_curves": "training/curves",
    "products training_shards": "training/terms",
    "recommended_choice": "training/choice",
    CROSSFIT: "features/crossfit features/fitted features/learning",
    "temperature abstaining": "training/temperature",
    "abstaining": "evaluation/abstaining",
    "calibration report": "report/answers",
    "files output_replacement": "disk files/atomic files/directory",
}
TESTS = {module: [f"test_{test}" for test in tests.split()] for tests, of in SUITES.items() for module in of.split()}
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.yaml")  # mutant: reason
LEAST = 0.9  # share of the mutants that are not equivalent
FOUND, SURVIVES, NOT_APPLIED = "found", "survives", "not applied"
CPU_SECONDS, TIMES, WALL_SECONDS = 5, 3, 600  # of a mutant: so many and as often the time of its tests; on the wall
MEMORY = 3 << 30  # bytes that a mutant may take beside what is loaded

EXCHANGED = (
    "Lt LtE GtE, LtE Lt Gt, Gt GtE LtE, GtE Gt Lt, Eq NotEq, NotEq Eq, Is IsNot, IsNot Is, In NotIn, NotIn In, "
    "Add Sub, Sub Add, Mult Div, Div Mult, FloorDiv Mult, Mod Mult, Pow Mult, BitAnd BitOr, BitOr BitAnd, "
    "LShift RShift, RShift LShift, And Or, Or And"
)
OTHERS = {  # what may stand in the place of an operator
    getattr(ast, name): [getattr(ast, other) for other in others]
    for name, *others in map(str.split, EXCHANGED.split(", "))
}
PARTS = (  # constants that say in how many parts, or in which of two equal ways, work is done
    *("BLOCK", "AT_ONCE", "CHEAPER", "ALIKE", "FLIPPED", "COMPARISONS", "COUNTED", "ROWS_AT_ONCE", "RUN_NUMBERS"),
    *("LARGEST_CODE", "NOWHERE"),
)
LEFT_OUT = ("annotation", "returns", "decorator_list", "ctx", "op", "ops", "type_params")  # fields of nodes


def options(parser):
    """Options of the command line."""
    parser.add_argument("modules", nargs="*", help=f"patterns of names: {', '.join(TESTS)} (default: all)")


def main(*, modules):
    """A line a module, and the mutants that survive."""
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    known, totals, survivors = equivalent(), Counter(), []
    for suite in SUITES.values():
        names = [name for name in suite.split() if any(fnmatch.fnmatch(name, each) for each in modules or ["*"])]
        for name, outcomes in tried(names).items() if names else ():
            left = [mutant for mutant in outcomes[SURVIVES] if mutant not in known]
            found, same = len(outcomes[FOUND]), len(outcomes[SURVIVES]) - len(left)
            totals.update(found=found, left=len(left))
            survivors += [f"  {name}: {mutant}" for mutant in left]
            print(f"{name:44} {found + same + len(left):4} mutants {found:4} found {same:3} equivalent", end=" ")
            print(f"{len(left):3} survive; {len(outcomes[NOT_APPLIED])} could not be made", flush=True)
    print(*survivors, sep="\n")
    number = totals["found"] + totals["left"]
    share = totals["found"] / max(number, 1)
    return Figure(f"{share:.1%} of {number} mutants that are not equivalent are found", share >= LEAST)


def equivalent():
    """Return the mutants that change nothing; a function keeps its own where its module is called otherwise."""
    return set(yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")))


def tried(names):
    """Return the mutants of modules by what became of them, from one process that runs their tests."""
    tests = [ROOT / "tests" / f"{test}.py" for test in TESTS[names[0]]]
    sources = {name: (ROOT / "ltr" / f"{name}.py").read_text("utf-8") for name in names}
    texts = "".join(path.read_text("utf-8") for path in tests)
    cases = {name: Cases("mutants", f"{name} {source} {texts}") for name, source in sources.items()}
    read, write = os.pipe()

    def work():
        run, nowhere = Run(cases), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        flags = ["-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "--doctest-modules"]
        pytest.main([*flags, *(str(ROOT / "ltr" / f"{name}.py") for name in names), *map(str, tests)], plugins=[run])
        os.write(write, json.dumps([run.problem, run.names_left_out]).encode())

    child = fork(work)
    os.close(write)
    said = b"".join(iter(lambda: os.read(read, 1 << 16), b""))
    finished(child)
    problem, left_out = json.loads(said or b'["the process that runs the tests ended", []]')
    if problem:
        raise RuntimeError(f"{', '.join(names)}: {problem}")
    print("".join(f"left out, as it fails without a mutant where it runs twice: {test}\n" for test in left_out), end="")
    return {name: stored(each.path) for name, each in cases.items()}


def stored(path):
    """Return what the child wrote down: the mutants by outcome."""
    outcomes = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        entry = json.loads(line)
        outcomes[entry["outcome"]].append(entry["case"][0])
    return outcomes


class Run:
    """A pytest plug-in that runs the tests once, noting the lines they reach, and then again for each mutant."""

    def __init__(self, cases):
        self.cases, self.seconds, self.problem, self.left_out = cases, [], "no test was collected", set()
        self.reached = {str(ROOT / "ltr" / f"{name}.py"): defaultdict(set) for name in cases}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Run the mutants instead of the tests."""
        self.problem = "the tests cannot be collected" if session.testsfailed or not session.items else None
        if self.problem:
            return True
        for index, item in enumerate(session.items):
            begin = time.process_time()
            following = session.items[index + 1] if index + 1 < len(session.items) else None
            self.left_out |= set() if self.passes(index, item, following) else {index}
            self.seconds.append(time.process_time() - begin)
        self.left_out |= failing_in_fork(session.items)
        self.names_left_out = [session.items[index].nodeid for index in sorted(self.left_out)]
        for name, cases in self.cases.items():
            self.try_all(session, name, cases)
        return True

    def passes(self, index, item, following):
        """Return whether a test passes; which lines of the modules it reaches is noted."""
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

    def try_all(self, session, name, cases):
        """Try each mutant of a module in a fork."""
        module = importlib.import_module("ltr." + name.replace("/", "."))
        tree = ast.parse(Path(module.__file__).read_text("utf-8"))
        known, reached = {mutant.id: mutant for mutant in mutants(tree)}, self.reached[module.__file__]
        gc.unfreeze()  # what the collector does not look at is in no list of it; tests freeze, too
        things = gc.get_objects()
        functions = [each for each in things if isinstance(each, FunctionType)]
        functions = [each for each in functions if each.__code__.co_filename == module.__file__]
        caches = [each for each in things if isinstance(each, functools._lru_cache_wrapper)]
        caches = [each for each in caches if (each.__module__ or "").startswith("ltr")]
        del things
        gc.freeze()

        def outcome(identity):
            mutant = known[identity]
            lines = mutant.lines if mutant.kind == "body" else list(reached)  # a constant is reached by all
            reaching = set().union(*(reached.get(line, ()) for line in lines)) - self.left_out
            tests = sorted(reaching, key=self.seconds.__getitem__)
            if not tests:
                return SURVIVES
            seconds = CPU_SECONDS + round(TIMES * sum(self.seconds[index] for index in tests))
            return in_fork(session, tests, lambda: apply(mutant, tree, module, functions), caches, seconds)

        for _ in cases.outcomes(((identity,) for identity in known), outcome):
            pass
        gc.unfreeze()


def failing_in_fork(items):
    """Return the tests that fail in a fork without a mutant, such as those that cannot run twice in one process."""
    read, write = os.pipe()

    def work():
        for index, item in enumerate(items):
            if any(report.failed for report in runtestprotocol(item, nextitem=None, log=False)):
                os.write(write, f"{index}\n".encode())

    child = fork(work)
    os.close(write)
    failing = b"".join(iter(lambda: os.read(read, 1 << 16), b""))
    finished(child)
    return set(map(int, failing.split()))


def in_fork(session, tests, change, caches, seconds):
    """Return what becomes of a mutant; all that its process started is killed with it."""
    folder = Path(tempfile.mkdtemp(prefix="mutant"))

    def work():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if Path("/proc/self/status").exists():
            resource.setrlimit(resource.RLIMIT_AS, (int(memory_mb("VmSize") * (1 << 20)) + MEMORY,) * 2)
        session.config._tmp_path_factory._basetemp = folder
        try:
            if not change():
                return 3
        except Exception:
            return 3
        for cache in caches:
            cache.cache_clear()
        reports = (runtestprotocol(session.items[index], nextitem=None, log=False) for index in tests)
        return int(any(report.failed for of_test in reports for report in of_test))

    child, deadline, done, status = fork(work), time.monotonic() + WALL_SECONDS, 0, 0
    while not done and time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        time.sleep(0 if done else 0.005)
    with contextlib.suppress(ProcessLookupError):  # nothing is left of its group
        os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(status) if done else finished(child)
    shutil.rmtree(folder, ignore_errors=True)
    return {0: SURVIVES, 3: NOT_APPLIED}.get(code, FOUND)


@dataclass(frozen=True, slots=True)
class Mutant:
    """Another node in the place of one."""

    name: str  # of the function, or of the constant
    kind: str  # body, default or constant
    id: str  # names it as long as the function keeps its code
    lines: range  # of the source, where it must be reached
    place: tuple  # parent, field, index in a list
    node: ast.AST


def mutants(tree):
    """Yield every mutant of a module."""
    times = Counter()
    for name, kind, place in sites(tree):
        node = at(*place)
        for changed in changes(node):
            change = f"{shown(node)} -> {shown(changed)}"
            times[name, change] += 1
            again = f" (no. {times[name, change]})" if times[name, change] > 1 else ""
            lines = range(node.lineno, node.end_lineno + 1)
            changed = ast.fix_missing_locations(ast.copy_location(changed, node))
            yield Mutant(name, kind, f"{name}: {change}{again}", lines, place, changed)


def shown(node):
    """Return a node as a line of source."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else text[:60] + " ... " + text[-25:]


def sites(tree):
    """Yield name, kind and place of every node that may be changed."""
    for name, node in functions_of(tree):
        for field in ("defaults", "kw_defaults"):
            for index, default in enumerate(getattr(node.args, field)):
                if default is not None:
                    yield from ((name, "default", place) for place in below(node.args, field, index))
        for index in range(len(node.body)):
            yield from ((name, "body", place) for place in below(node, "body", index))
    for name, place in constants(tree):
        yield from ((name, "constant", inner) for inner in below(*place))


def functions_of(tree):
    """Yield name and node of each function of the module and each method of its classes."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{name}", method) for name, method in functions_of(node))


def constants(tree):
    """Yield the name of each constant of the module and the place of its value."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = getattr(node, "target", None) or node.targets[0]
        if isinstance(target, ast.Name) and target.id not in PARTS:
            yield target.id, (node, "value", None)
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from ((name.id, (node.value, "elts", place)) for place, name in enumerate(target.elts))


def at(parent, field, index):
    """Return the node at a place."""
    return getattr(parent, field) if index is None else getattr(parent, field)[index]


def below(parent, field, index):
    """Yield the place and all places in its node, but for texts, errors and annotations."""
    node = at(parent, field, index)
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it only watches
        return
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    yield parent, field, index
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom):
        return
    for name, value in ast.iter_fields(node):
        for place, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST) and name not in LEFT_OUT:
                yield from below(node, name, place if isinstance(value, list) else None)


def changes(node):  # noqa: C901 - a table of cases
    """Yield what may stand in the place of a node."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                for other in OTHERS[type(operator)]:
                    yield ast.Compare(node.left, [*node.ops[:index], other(), *node.ops[index + 1 :]], node.comparators)
        case ast.BinOp() if type(node.op) in OTHERS:
            yield ast.BinOp(node.left, OTHERS[type(node.op)][0](), node.right)
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield copy.copy(node.operand)
        case ast.BoolOp():
            yield ast.BoolOp(OTHERS[type(node.op)][0](), node.values)
        case ast.Constant(value=bool()):
            yield ast.Constant(not node.value)
        case ast.Constant(value=int() | float()):
            yield ast.Constant(node.value + 1)
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.Compare):
            changed = copy.copy(node)
            changed.test = ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
            yield changed
        case ast.AugAssign():
            if type(node.op) in OTHERS:
                yield ast.AugAssign(node.target, OTHERS[type(node.op)][0](), node.value)
            yield ast.Pass()
        case ast.Expr() | ast.Raise():
            yield ast.Pass()
        case ast.Continue() | ast.Break():
            yield ast.Break() if isinstance(node, ast.Continue) else ast.Continue()
        case ast.Return() if node.value is not None and not isinstance(node.value, ast.Constant):
            yield ast.Return(ast.Constant(None))


def apply(mutant, tree, module, functions):
    """Put the mutant into the tree and into the loaded functions; return whether that was possible."""
    before = codes(compile(tree, module.__file__, "exec"))
    parent, field, index = mutant.place
    if index is None:
        setattr(parent, field, mutant.node)
    else:
        getattr(parent, field)[index] = mutant.node
    if mutant.kind == "default":
        return set_defaults(tree, module, functions, lambda name, _: name == mutant.name)
    if mutant.kind == "constant":
        value = evaluated(at(*next(place for name, place in constants(tree) if name == mutant.name)), module)
        old = vars(module)[mutant.name]
        for other in list(sys.modules.values()):
            if getattr(other, "__dict__", {}).get(mutant.name, other) is old:
                vars(other)[mutant.name] = value
        set_defaults(tree, module, functions, lambda _, node: mutant.name in names_in(node.args))
        return True
    after, changed = codes(compile(tree, module.__file__, "exec")), 0
    for function in functions:
        key = function.__code__.co_qualname, function.__code__.co_firstlineno
        old, new = before.get(key, []), after.get(key, [])
        places = [index for index, code in enumerate(old) if len(old) == 1 or code == function.__code__]
        if len(old) == len(new) and places and new[places[0]].co_freevars == function.__code__.co_freevars:
            changed += function.__code__ != new[places[0]]
            function.__code__ = new[places[0]]
    return changed > 0


def names_in(node):
    """Return the names that stand in a node."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def codes(code):
    """Return every code object in it by name, line and number."""
    found, pending = defaultdict(list), [code]
    while pending:
        inner = pending.pop()
        found[inner.co_qualname, inner.co_firstlineno].append(inner)
        pending += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
    return found


def set_defaults(tree, module, functions, is_meant):
    """Give functions that are meant the defaults that they have in the tree; return whether one is loaded."""
    nodes = {name: node for name, node in functions_of(tree) if is_meant(name, node)}
    changed = [function for function in functions if function.__code__.co_qualname in nodes]
    for function in changed:
        arguments = nodes[function.__code__.co_qualname].args
        function.__defaults__ = tuple(evaluated(value, module) for value in arguments.defaults) or None
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        function.__kwdefaults__ = {name.arg: evaluated(value, module) for name, value in pairs if value} or None
    return bool(changed)


def evaluated(node, module):
    """Return the value of an expression of the module."""
    return eval(compile(ast.Expression(node), module.__file__, "eval"), vars(module))
