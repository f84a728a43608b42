"""Names code that is nobody's library, asks for CUDA, and is not rewritten because of where it lies."""

from __future__ import annotations

import ast
import os
import re
import warnings
from collections.abc import Iterator
from typing import TypeGuard

from tdev_core.errors import DeviceWarning
from tdev_core.run.roots import is_somebodys_own

_ASKS = re.compile(rb"""torch\.cuda\b|\.cuda\(|["']cuda\b""")
"""Text without which there is no need to parse."""

_DEVICE = re.compile(r"cuda(:\d*)?")

_named: set[str] = set()


def warn_of(name: str, path: str) -> None:
    """Warn once for each package whose file ``path``, the module ``name``, asks torch for CUDA.

    The warning's place is the line that asks.
    """
    package = name.partition(".")[0]
    if package in _named or not path.endswith(".py") or not is_somebodys_own(path):
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        return  # the import says so
    line = _line_that_asks(source)
    if line is None:
        return
    _named.add(package)
    place = os.path.abspath(path)
    for _ in range(name.count(".") + (os.path.basename(path) == "__init__.py")):
        place = os.path.dirname(place)
    folder = place if os.path.isdir(place) else os.path.dirname(place)
    text = (
        f"{package} asks for CUDA and runs as it is: it lies neither beside the script nor below the working "
        "directory, in the same git repository or in a project that is installed editable. To have it "
        f"rewritten: python -m tdev run --root {folder} …, or tdev_roots in pytest's settings"
    )
    warnings.warn_explicit(
        DeviceWarning(text, "TDEV303"),
        DeviceWarning,
        filename=path,
        lineno=line,
    )


def _line_that_asks(source: bytes) -> int | None:
    """Return the first line whose code asks for CUDA, from 1; comments, docstrings and annotations only speak of it."""
    if b"torch" not in source or _ASKS.search(source) is None:
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None  # the import says so
    return min((node.lineno for node in _run_nodes(tree) if _asks(node)), default=None)


def _asks(node: ast.AST) -> TypeGuard[ast.expr | ast.stmt]:
    match node:
        case ast.Attribute(value=ast.Name("torch"), attr="cuda"):
            return True
        case ast.Call(func=ast.Attribute(attr="cuda")):
            return True
        case ast.ImportFrom(module=str(module)):
            return module.startswith("torch.cuda")
        case ast.Import(names=names):
            return any(alias.name.startswith("torch.cuda") for alias in names)
        case ast.Constant(str(text)):
            return _DEVICE.fullmatch(text) is not None
        case _:
            return False


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a module that run: all but annotations, and but types that are given names."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.Subscript) and getattr(node.value, "id", None) == "Literal":
            continue
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                items = value if isinstance(value, list) else [value]
                waiting += [item for item in items if isinstance(item, ast.AST)]
