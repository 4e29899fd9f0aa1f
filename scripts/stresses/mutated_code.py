"""Small mistakes in a module's code: a comparison, a sign, a constant, a condition, a default or a statement changed.

A mutant is compiled from the changed syntax tree and put into the functions that are loaded: nothing is imported anew.
Texts are left out, with all that stands in an f-string or an error's message, and so are class bodies and annotations.
"""

import ast
import copy
import gc
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from types import CodeType, FunctionType

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of one node: where, what, and the tree of the whole module with it."""

    name: str  # of the function, or of the constant
    change: str
    lines: range  # of the source, where it must be reached
    kind: str  # body, default or constant
    tree: ast.Module

    @property
    def id(self):
        """What names it as long as the function keeps its code."""
        return f"{self.name}: {self.change}"


def mutants(source):
    """Every mutant of a module."""
    tree, times = ast.parse(source), Counter()
    for path, name, kind in sites(tree):
        node = follow(tree, path)
        for changed in changes(node):
            other = copy.deepcopy(tree)
            place(other, path, changed)
            ast.fix_missing_locations(other)
            change = f"{shown(node)} -> {shown(changed)}"
            times[name, change] += 1
            again = f" (no. {times[name, change]})" if times[name, change] > 1 else ""
            yield Mutant(name, change + again, range(node.lineno, node.end_lineno + 1), kind, other)


def shown(node):
    """A node as a line of source."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 90 else text[:60] + " ... " + text[-25:]


def sites(tree):
    """Path, name and kind of every node that may be changed."""
    for name, path, node in named_functions(tree):
        yield from of_function(node, path, name)
    for name, path, value in constants(tree):
        for inner in below(value, path):
            yield inner, name, "constant"


def named_functions(tree):
    """Name, path and node of each function of the module and each method of its classes."""
    for index, node in enumerate(tree.body):
        step = ("body", index)
        if isinstance(node, FUNCTIONS):
            yield node.name, (step,), node
        elif isinstance(node, ast.ClassDef):
            for inner, method in enumerate(node.body):
                if isinstance(method, FUNCTIONS):
                    yield f"{node.name}.{method.name}", (step, ("body", inner)), method


def constants(tree):
    """Name, path and value of each constant of the module."""
    for index, node in enumerate(tree.body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target, path = getattr(node, "target", None) or node.targets[0], (("body", index), ("value", None))
        if isinstance(target, ast.Name):
            yield target.id, path, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for place, (name, value) in enumerate(zip(target.elts, node.value.elts, strict=True)):
                yield name.id, (*path, ("elts", place)), value


def of_function(node, path, name):
    """The sites of its defaults and of its body."""
    for field in ("defaults", "kw_defaults"):
        for index, default in enumerate(getattr(node.args, field)):
            if default is not None:
                for inner in below(default, (*path, ("args", None), (field, index))):
                    yield inner, name, "default"
    for index, statement in enumerate(node.body):
        for inner in below(statement, (*path, ("body", index))):
            yield inner, name, "body"


def below(node, path):
    """The paths of the node and of all that stands in it, but for texts, errors and annotations."""
    if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
        return
    yield path
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom):
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "ctx", "op", "ops", "type_params"):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                yield from below(child, (*path, (field, index if isinstance(value, list) else None)))


def follow(tree, path):
    """The node at the path."""
    for field, index in path:
        tree = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return tree


def place(tree, path, node):
    """Put a node at the path."""
    *before, (field, index) = path
    parent = follow(tree, before)
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def changes(node):
    """What may stand in its place."""
    yield from other_expressions(node)
    yield from other_statements(node)


def other_expressions(node):
    """Another comparison, operator or constant."""
    match node:
        case ast.Compare():
            for index, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    ops = [*node.ops[:index], other(), *node.ops[index + 1 :]]
                    yield at(node, ast.Compare(node.left, ops, node.comparators))
        case ast.BinOp() if type(node.op) in OPERATORS:
            yield at(node, ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.BoolOp():
            yield at(node, ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))
        case ast.Constant(value=bool()):
            yield at(node, ast.Constant(not node.value))
        case ast.Constant(value=int() | float()):
            yield at(node, ast.Constant(node.value + 1))


def other_statements(node):
    """Another condition, or a statement that is gone or does something else."""
    match node:
        case ast.If() | ast.While() | ast.IfExp() if not isinstance(node.test, ast.Compare):
            changed = copy.copy(node)
            changed.test = at(node.test, ast.UnaryOp(ast.Not(), node.test))
            yield changed
        case ast.AugAssign():
            if type(node.op) in OPERATORS:
                yield at(node, ast.AugAssign(node.target, OPERATORS[type(node.op)](), node.value))
            yield at(node, ast.Pass())
        case ast.Expr() | ast.Raise():
            yield at(node, ast.Pass())
        case ast.Continue() | ast.Break():
            yield at(node, ast.Break() if isinstance(node, ast.Continue) else ast.Continue())
        case ast.Return() if node.value is not None and not isinstance(node.value, ast.Constant):
            yield at(node, ast.Return(ast.Constant(None)))


def at(node, other):
    """The other node where the node stands."""
    return ast.copy_location(other, node)


def codes(code):
    """Every code object in it by name, line and number."""
    found = defaultdict(list)
    pending = [code]
    while pending:
        inner = pending.pop()
        found[inner.co_qualname, inner.co_firstlineno].append(inner)
        pending += [constant for constant in inner.co_consts if isinstance(constant, CodeType)]
    return found


def loaded(paths):
    """The functions in memory that come from each of the files."""
    functions = {path: [] for path in paths}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename in functions:
            functions[thing.__code__.co_filename].append(thing)
    return functions


def apply(mutant, source, module, functions):
    """Put the mutant into the loaded functions; whether that was possible."""
    if mutant.kind == "constant":
        return set_constant(mutant, module, functions)
    if mutant.kind == "default":
        return set_defaults(mutant.tree, {mutant.name}, module, functions)
    before, after = (
        codes(compile(source, module.__file__, "exec")),
        codes(compile(mutant.tree, module.__file__, "exec")),
    )
    changed = 0
    for function in functions:
        key = function.__code__.co_qualname, function.__code__.co_firstlineno
        old, new = before.get(key, []), after.get(key, [])
        places = [index for index, code in enumerate(old) if len(old) == 1 or code == function.__code__]
        if len(old) == len(new) and places and new[places[0]].co_freevars == function.__code__.co_freevars:
            changed += function.__code__ != new[places[0]]
            function.__code__ = new[places[0]]
    return changed > 0


def set_constant(mutant, module, functions):
    """Another value of a module's constant, wherever it was imported and in the defaults of the module's functions."""
    value = next(value for name, _, value in constants(mutant.tree) if name == mutant.name)
    old, new = vars(module)[mutant.name], evaluated(value, module)
    for other in list(sys.modules.values()):
        if getattr(other, "__dict__", {}).get(mutant.name, other) is old:
            vars(other)[mutant.name] = new
    set_defaults(
        mutant.tree,
        {name for name, _, node in named_functions(mutant.tree) if has_default(node, mutant)},
        module,
        functions,
    )
    return True


def has_default(node, mutant):
    """Whether a default of the function is the constant."""
    defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    return any(
        isinstance(inner, ast.Name) and inner.id == mutant.name for value in defaults for inner in ast.walk(value)
    )


def set_defaults(tree, names, module, functions):
    """The defaults that these functions have in the tree; whether one is loaded."""
    nodes = {name: node for name, _, node in named_functions(tree) if name in names}
    changed = [function for function in functions if function.__code__.co_qualname in nodes]
    for function in changed:
        arguments = nodes[function.__code__.co_qualname].args
        function.__defaults__ = tuple(evaluated(value, module) for value in arguments.defaults) or None
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        function.__kwdefaults__ = {name.arg: evaluated(value, module) for name, value in pairs if value} or None
    return bool(changed)


def evaluated(node, module):
    """The value of an expression of the module."""
    return eval(compile(ast.Expression(node), module.__file__, "eval"), vars(module))
