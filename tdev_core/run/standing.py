"""Has a program ask :mod:`tdev_core.packages.asking` for what it imports of packages for CUDA.

An import that the program itself can do without stays as it is: in a ``try`` that goes on after an ``ImportError``, or under
``contextlib.suppress``. There the program has a way of its own, which is what it means to take without the package.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from tdev_core.ecosystem.package_table import of_module, packages
from tdev_core.run.placing import import_into

__all__ = ["have_it_ask", "may_import"]

_ASKING = "_tdev_standins"
_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def may_import(source: bytes) -> bool:
    """Tell whether it is worth parsing ``source`` for :func:`have_it_ask`."""
    return _imports().search(source) is not None


@lru_cache(maxsize=1)
def _imports() -> re.Pattern[bytes]:
    names = "|".join(re.escape(name) for name in packages())
    return re.compile(rf"\b(?:import|from)\b[^\n]*\b(?:{names})\b".encode())


def have_it_ask(tree: ast.Module) -> bool:
    """Have the imports in ``tree`` that it cannot do without ask; says whether there were any."""
    found = False
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, guarded = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            guarded = False  # it runs when it is called
        for field, value in ast.iter_fields(node):
            if not isinstance(value, list):
                continue
            inside = guarded or field == "body" and _goes_on(node)
            # What is put in for `from … import *` holds that import: looked at again, it would be put in for ever.
            waiting += [(part, inside) for part in value if isinstance(part, ast.AST)]
            if not inside:
                found = _replace(value) or found
    if found:
        import_into(tree, "tdev_core.packages.asking", _ASKING)
    return found


def _replace(statements: list[ast.AST]) -> bool:
    """Put calls in the places of imports among ``statements``; says whether there were any."""
    new = [part for node in statements for part in _asking(node)]
    found = any(a is not b for a, b in zip(new, statements, strict=False))
    statements[:] = new
    return found


def _asking(node: ast.AST) -> list[ast.AST]:
    """Return what stands for one statement, itself where it imports nothing that is asked for."""
    if isinstance(node, ast.ImportFrom):
        if node.level or not _is_for_cuda(node.module):
            return [node]
        if node.names[0].name == "*":
            return [_unless_answered(node)]
        targets = [ast.Name(alias.asname or alias.name, ast.Store()) for alias in node.names]
        wanted = [str(node.module), *(alias.name for alias in node.names)]
        return [_assign(ast.Tuple([*targets], ast.Store()), "names", wanted, node)]
    if isinstance(node, ast.Import) and any(_is_for_cuda(alias.name) for alias in node.names):
        return [_imported(alias, node) for alias in node.names]
    return [node]


def _imported(alias: ast.alias, node: ast.Import) -> ast.stmt:
    if not _is_for_cuda(alias.name):
        return ast.copy_location(ast.Import([alias]), node)
    name = alias.asname or alias.name.partition(".")[0]
    function = "leaf" if alias.asname else "bound"
    return _assign(ast.Name(name, ast.Store()), function, [alias.name], node)


def _unless_answered(node: ast.ImportFrom) -> ast.stmt:
    """Return ``from … import *`` under the condition that no stand-in has bound its names: Python alone knows a package's."""
    asked = ast.Attribute(ast.Name(_ASKING, ast.Load()), "every", ast.Load())
    space = ast.Call(ast.Name("globals", ast.Load()), [], [])
    call = ast.Call(asked, [ast.Constant(str(node.module)), space], [])
    made = ast.If(ast.UnaryOp(ast.Not(), call), [node], [])
    for part in ast.walk(made):
        ast.copy_location(part, node)
    return made


def _assign(target: ast.expr, function: str, wanted: list[str], place: ast.stmt) -> ast.stmt:
    asked = ast.Attribute(ast.Name(_ASKING, ast.Load()), function, ast.Load())
    call = ast.Call(asked, [ast.Constant(name) for name in wanted], [])
    made = ast.Assign([target], call)
    for part in ast.walk(made):
        ast.copy_location(part, place)
    return made


def _is_for_cuda(module: str | None) -> bool:
    return module is not None and of_module(module) is not None


def _goes_on(node: ast.AST) -> bool:
    """Tell whether the program goes on where an import in the body of ``node`` fails."""
    if isinstance(node, ast.Try):
        return any(_catches(h.type) and not _ends(h.body[-1]) for h in node.handlers)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        calls = [item.context_expr for item in node.items]
        return any(
            isinstance(call, ast.Call)
            and _name(call.func) == "suppress"
            and any(map(_catches, call.args))
            for call in calls
        )
    return False


def _catches(caught: ast.expr | None) -> bool:
    if caught is None:
        return True
    several = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(_name(each) in _CAUGHT for each in several)


def _ends(statement: ast.stmt) -> bool:
    """Tell whether a statement raises, or ends the program."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _name(statement.value.func) in ("exit", "_exit", "quit")
    return isinstance(statement, ast.Raise)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
