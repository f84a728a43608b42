"""Which names a type checker sees in a torch module.

The emitted stubs re-export torch's own names; a re-export of a name that torch only creates at run
time would be an error to every checker. Read from the source that the checker reads: the module's
``.pyi`` if there is one, else its ``.py``.
"""

from __future__ import annotations

import ast
import importlib.util
import json
from collections.abc import Iterable
from functools import cache, lru_cache, partial
from pathlib import Path

from generator.facts.cache import folder, key
from generator.memo import Memo, digest

__all__ = ["visible_names"]


def visible_names(modules: Iterable[str], torch: str | None = None) -> dict[str, frozenset[str]]:
    """Names bound at the top level of each module as a type checker sees it; none without a source.

    ``torch`` is the installed torch's ``facts.cache.key()`` from before torch was imported: importing
    all of it changes the environment, and with it the key.
    """
    memo = Memo(folder() / "visible.json")
    torch = torch or key()
    own = Path(__file__).read_text(encoding="utf-8")
    result = {
        module: frozenset(
            json.loads(memo.get(digest(torch, own, module), partial(_as_json, module)))
        )
        for module in modules
    }
    memo.save()
    return result


def _as_json(module: str) -> str:
    return json.dumps(sorted(_bound(module, ())))


def _bound(module: str, trail: tuple[str, ...]) -> set[str]:
    source = _source(module)
    if source is None or module in trail:
        return set()
    # What a stub imports it does not export, unless it says so with `import x as x`.
    stub = source.suffix == ".pyi"
    names: set[str] = set()
    for node in _parsed(source):
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
                    if not stub or alias.asname == alias.name
                }
            case ast.ImportFrom(names=aliases):
                origin = _origin(module, source, node)
                for alias in aliases:
                    if alias.name != "*":
                        if not stub or alias.asname == alias.name:
                            names.add(alias.asname or alias.name)
                    elif origin is not None:
                        names |= _starred(origin, (*trail, module))
            case _:
                pass  # binds no name
    return names


def _starred(module: str, trail: tuple[str, ...]) -> set[str]:
    bound = _bound(module, trail)
    declared = _declared(module)
    if declared is None:
        return {name for name in bound if not name.startswith("_")}
    return bound & declared


def _declared(module: str) -> set[str] | None:
    """``__all__`` as far as it is written out; None where the module has none."""
    source = _source(module)
    if source is None:
        return None
    found: set[str] | None = None
    for node in _parsed(source):
        match node:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=value)
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=value)
                | ast.AugAssign(target=ast.Name(id="__all__"), value=value)
            ) if (value is not None):
                found = (found or set()) | {
                    part.value
                    for part in ast.walk(value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                }
    return found


@cache
def _parsed(source: Path) -> tuple[ast.stmt, ...]:
    return tuple(_statements(ast.parse(source.read_bytes()).body))


def _statements(body: Iterable[ast.stmt]) -> Iterable[ast.stmt]:
    """Statements of the module's own scope, including those under ``if``, ``try`` and ``with``."""
    for node in body:
        yield node
        match node:
            case ast.If(test=test, body=then, orelse=otherwise):
                # A checker takes the branch for TYPE_CHECKING and skips the other one.
                if _is_type_checking(test):
                    yield from _statements(then)
                elif isinstance(test, ast.UnaryOp) and _is_type_checking(test.operand):
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


def _targets(target: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _origin(module: str, source: Path, node: ast.ImportFrom) -> str | None:
    if node.level == 0:
        return node.module
    parts = module.split(".")
    if source.stem != "__init__":
        parts = parts[:-1]
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, *([node.module] if node.module else [])])


@cache
def _source(module: str) -> Path | None:
    if module.partition(".")[0] != "torch":
        return None
    base = _root().joinpath(*module.split(".")[1:])
    for candidate in (
        base / "__init__.pyi",
        base.with_suffix(".pyi"),
        base / "__init__.py",
        base.with_suffix(".py"),
    ):
        if candidate.is_file():
            return candidate
    return None


@lru_cache(maxsize=1)
def _root() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("torch")
    return Path(next(iter(spec.submodule_search_locations)))
