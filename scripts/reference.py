"""The public names of ltr as a page, from their docstrings: docs/reference.md, which `scripts/readme` writes anew."""

import ast
import inspect
import textwrap
from itertools import pairwise

LONGEST = 100
HEAD = """# Reference

The public names of `import ltr`, as their docstrings have them. `scripts/readme` writes this page, and a test compares
it with the code.
"""


def call(name, node):
    """Return how a function or a class is called, in the words of its source; a parameter a line where it is long."""
    init = next((each for each in node.body if getattr(each, "name", "") == "__init__"), None)
    if isinstance(node, ast.ClassDef) and init is None:  # a dataclass, or a tuple with names
        parts, returns = [_field(each) for each in fields(node)], ""
    else:
        function = init if isinstance(node, ast.ClassDef) else node
        parts = [part for part in _parameters(function.args) if part not in ("self", "cls")]
        returns = f" -> {ast.unparse(function.returns)}" if function.returns and function is not init else ""
    line = f"{name}({', '.join(parts)}){returns}"
    return line if len(line) <= LONGEST else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returns}"])


def fields(node):
    """Return the public fields of a dataclass or a tuple with names."""
    annotated = [each for each in node.body if isinstance(each, ast.AnnAssign)]
    return [each for each in annotated if "ClassVar" not in ast.unparse(each) and not each.target.id.startswith("_")]


def _field(node):
    """Return a field with its type and its default, which may stand in `field(...)`."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "field":
        value = next((each.value for each in value.keywords if each.arg in ("default", "default_factory")), None)
        value = (
            ast.Constant(...) if isinstance(value, ast.Name | ast.Lambda) and "factory" in ast.unparse(node) else value
        )
    text = f"{node.target.id}: {ast.unparse(node.annotation)}"
    return text if value is None else f"{text} = {ast.unparse(value)}"


def _parameters(arguments):
    """Return each parameter with its type and its default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    named = list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
    between = (
        [(f"*{ast.unparse(arguments.vararg)}" if arguments.vararg else "*", None)] if arguments.vararg or named else []
    )
    last = [(f"**{ast.unparse(arguments.kwarg)}", None)] if arguments.kwarg else []
    listed = [*zip(positional, defaults, strict=True), *between, *named, *last]
    texts = [(each if isinstance(each, str) else ast.unparse(each), default) for each, default in listed]
    return [text if default is None else f"{text} = {ast.unparse(default)}" for text, default in texts]


def markdown(doc):
    """Return a docstring as Markdown: its examples become blocks of code."""
    blocks = inspect.cleandoc(doc or "").split("\n\n")
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>> ") else block for block in blocks)


def members(node):
    """Yield the fields that say something of themselves, then public methods and properties, with a sentence each."""
    public = [each.target.id for each in fields(node)]
    for member, after in pairwise(node.body):
        if isinstance(member, ast.AnnAssign) and member.target.id in public and isinstance(after, ast.Expr):
            yield f"- `{member.target.id}`: {inspect.cleandoc(after.value.value).replace(chr(10), ' ')}"
    for member in node.body:
        if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef) and not member.name.startswith("_"):
            doc = inspect.cleandoc(ast.get_docstring(member) or "").partition("\n\n")[0].replace("\n", " ")
            is_property = any(ast.unparse(each).endswith("property") for each in member.decorator_list)
            names = [part.partition(":")[0].partition(" = ")[0] for part in _parameters(member.args)]
            shown = ", ".join(name for name in names if name not in ("self", "cls"))
            yield f"- `.{member.name}{'' if is_property else f'({shown})'}`: {doc}"


def page():
    """Return the page."""
    import ltr

    parts = [HEAD]
    for name in sorted(set(ltr.__all__) - {"__version__"}, key=str.lower):
        node = ast.parse(textwrap.dedent(inspect.getsource(getattr(ltr, name)))).body[0]
        head = f"## `{name}`\n\n```text\n{call(f'ltr.{name}', node)}\n```\n"
        parts += [head, f"{markdown(ast.get_docstring(node))}\n"]
        if isinstance(node, ast.ClassDef) and (listed := list(members(node))):
            parts.append("\n".join(listed) + "\n")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
