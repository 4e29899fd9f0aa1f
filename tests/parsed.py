"""Sources of the package, parsed once for all tests of a process that look at them."""

import ast
import gc
from functools import cache


@cache
def nodes(path):
    """Every node of a file, as `ast.walk` gives them, but for those that only say how a name is used."""
    found = [ast.parse(path.read_bytes())]
    for node in found:  # it grows
        for value in vars(node).values():
            if isinstance(value, list):
                found += [each for each in value if isinstance(each, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                found.append(value)
    gc.freeze()  # they stay: the collector of garbage need not look at them, as it would even when Python ends
    return tuple(found)
