"""Find the names that a type checker sees in a torch module.

The emitted stubs re-export torch's own names; a re-export of a name that torch only creates at run
time would be an error to every checker. Read from the source that the checker reads: the module's
``.pyi`` if there is one, else its ``.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import NamedTuple

__all__ = ["Scope", "absolute", "read_scope", "visible"]


class Scope(NamedTuple):
    """The names that one file binds at its top level, for a type checker.

    ``names`` are bound by the file itself, ``stars`` the modules that it takes everything from;
    ``declared`` is ``__all__`` as far as it is written out, None where there is none. ``imports`` are the
    full names of what the file imports: modules and, where it takes names from one, those too.
    """

    names: frozenset[str]
    stars: tuple[str, ...]
    declared: frozenset[str] | None
    imports: frozenset[str]


def read_scope(module: str, body: Iterable[ast.stmt], is_package: bool, stub: bool) -> Scope:
    """Return the scope of a file with these statements."""
    names: set[str] = set()
    deleted: set[str] = set()
    imports: set[str] = set()
    stars: list[str] = []
    declared: set[str] | None = None
    for node in _statements(body):
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                names.add(name)
            case ast.Assign(targets=targets):
                for target in targets:
                    names |= _targets(target)
            case ast.AnnAssign(target=target):
                names |= _targets(target)
            case ast.Import(names=aliases):
                names |= {
                    alias.asname or alias.name.partition(".")[0]
                    for alias in aliases
                    if _exports(alias, stub)
                }
                imports |= {path for alias in aliases for path in _packages(alias.name)}
            case ast.ImportFrom(names=aliases):
                base = absolute(module, is_package, node.level, node.module)
                imports.add(base)
                for alias in aliases:
                    imports.add(f"{base}.{alias.name}")
                    if alias.name == "*":
                        stars.append(base)
                    elif _exports(alias, stub):
                        names.add(alias.asname or alias.name)
            case ast.Delete(targets=targets):
                for target in targets:
                    deleted |= _targets(target)
            case _:
                pass  # binds no name
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ) if value is not None:
                declared = (declared or set()) | {
                    part.value
                    for part in ast.walk(value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
            case _:
                pass  # tells nothing of __all__
    return Scope(
        frozenset(names - deleted),
        tuple(stars),
        frozenset(declared) if declared is not None else None,
        frozenset(imports),
    )


def visible(module: str, scope_of: Callable[[str], Scope | None]) -> frozenset[str]:
    """Return names that a checker sees in ``module``; ``scope_of`` gives a module's scope, None if it has none."""
    return frozenset(_bound(module, scope_of, ()))


def _bound(
    module: str, scope_of: Callable[[str], Scope | None], trail: tuple[str, ...]
) -> set[str]:
    scope = None if module in trail else scope_of(module)
    if scope is None:
        return set()
    names = set(scope.names)
    for star in scope.stars:
        other = scope_of(star)
        bound = _bound(star, scope_of, (*trail, module))
        if other is None or other.declared is None:
            names |= {name for name in bound if not name.startswith("_")}
        else:
            names |= bound & other.declared
    return names


def absolute(module: str, is_package: bool, level: int, target: str | None) -> str:
    """Full name of what ``from <level dots><target>`` means inside ``module``."""
    if not level:
        return target or ""
    parts = module.split(".")
    base = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join(base + ([target] if target else []))


def _packages(module: str) -> list[str]:
    """Return what ``import a.b.c`` imports: a, a.b and a.b.c."""
    parts = module.split(".")
    return [".".join(parts[:size]) for size in range(1, len(parts) + 1)]


def _exports(alias: ast.alias, stub: bool) -> bool:
    """Tell whether an import binds a name for others: a stub has to say so with ``import x as x``."""
    return not stub or alias.asname == alias.name


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Statements of the module's own scope, including those under ``if``, ``try`` and ``with``."""
    for node in body:
        yield node
        match node:
            case ast.If(test=test, body=then, orelse=otherwise):
                # A checker takes the branch for TYPE_CHECKING and skips the other one.
                if _is_type_checking(test):
                    yield from _statements(then)
                elif _is_other_platform(test) or (
                    isinstance(test, ast.UnaryOp) and _is_type_checking(test.operand)
                ):
                    yield from _statements(otherwise)
                else:
                    yield from _statements(then)
                    yield from _statements(otherwise)
            case ast.Try(body=then, handlers=handlers, orelse=otherwise, finalbody=final):
                yield from _statements(then)
                for handler in handlers:
                    yield from _statements(handler.body)
                yield from _statements(otherwise)
                yield from _statements(final)
            case ast.With(body=then) | ast.For(body=then) | ast.While(body=then):
                yield from _statements(then)
            case _:
                pass  # no statements inside that belong to the module's scope


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _is_other_platform(test: ast.expr) -> bool:
    """Tell whether the test holds on Windows or macOS alone: a checker skips its branch on all other platforms."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_is_other_platform, values))
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id="sys"), attr="platform"),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value="win32" | "darwin")],
        ):
            return True
        case ast.Call(
            func=ast.Attribute(
                value=ast.Attribute(value=ast.Name(id="sys"), attr="platform"), attr="startswith"
            ),
            args=[ast.Constant(value=str(start))],
        ):
            return not start.startswith("linux")
        case _:
            return False


def _targets(target: ast.expr) -> set[str]:
    """Return the names that are bound or deleted; in ``table[key] = value`` none is."""
    return {
        node.id
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
