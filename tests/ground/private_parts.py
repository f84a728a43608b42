"""Find what a package uses of torch's private parts, and of CPython's, by reading its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

__all__ = ["private_parts"]

_CPYTHON = frozenset({"__closure__", "__code__", "cell_contents"})


def private_parts(package: Path) -> dict[str, set[str]]:
    """List the private parts that each file of ``package`` uses, by the file's path below the package's folder.

    A part is a module of torch to the first underscore in its name (``torch.jit._state``), or an attribute
    (``._op_dk``) that begins with an underscore and that no file of the package defines: it is another's.
    """
    trees = {
        path.relative_to(package.parent).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(package.rglob("*.py"))
    }
    defined = {name for tree in trees.values() for name in _defined(tree)}
    found = {path: set(_used(tree, defined)) for path, tree in trees.items()}
    return {path: parts for path, parts in found.items() if parts}


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.arg():
                yield node.arg
            case _:
                pass


def _used(tree: ast.Module, defined: set[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from _modules(alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield from _modules(f"{module}.{alias.name}" for alias in node.names)
            case ast.Attribute(attr=name) if name in _CPYTHON:
                yield f".{name}"
            case ast.Attribute(attr=name) if _is_private(name) and name not in defined:
                yield f".{name}"
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"), args=[_, ast.Constant(str(name)), *_]
            ):
                if _is_private(name) and name not in defined:
                    yield f".{name}"
            case _:
                pass


def _modules(names: Iterator[str]) -> Iterator[str]:
    for name in names:
        parts = name.split(".")
        private = next((i for i, part in enumerate(parts) if _is_private(part)), None)
        if parts[0] == "torch" and private is not None:
            yield ".".join(parts[: private + 1])


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
