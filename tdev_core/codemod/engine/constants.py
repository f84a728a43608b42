"""Collects the words that classes and modules of a tree call devices by: ``class DeviceType: CUDA = "cuda"``, ``CUDA_DEVICE = "cuda"``.

A constant's own name says which device it holds, and nobody gives it another word. ``DEVICE = "cuda"`` is a
setting, which a person changes: no constant.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tdev_core.codemod.engine.python.tree import parse

_DEVICES = "cuda|cpu|meta|mps|xpu|npu|hpu|mtia"
# From what is rare: a word that ends a line.
_WORD = re.compile(
    rf"[\"'](?:{_DEVICES})(?::\d+)?[\"'][ \t]*(?:#[^\n]*)?\r?$".encode(), re.MULTILINE
)
_IS_GIVEN = re.compile(rb"[ \t]*\w+[ \t]*(?::[^=\n]+)?=[ \t]*\Z")
SAYS_ITS_DEVICE = re.compile(rf"(?<![a-z])(?:{_DEVICES}|gpu)(?![a-z])", re.IGNORECASE)
"""The name of a constant that says what it holds."""
_DEVICE = re.compile(rf"(?:{_DEVICES})(?::\d+)?\Z")
_BASES = {"object", "str", "Enum", "StrEnum"}


class Constants:
    """The constants of the files seen so far."""

    def __init__(self) -> None:
        self._held: dict[str, set[str]] = {}
        """The words of each constant, by ``owner.NAME``; of a module's by ``.NAME`` as well."""
        self._margins: dict[str, int] = {}
        """The number of modules that hold a constant of that name at their margin."""

    def see(self, raw: bytes, module: str) -> None:
        """Take a file into account, called ``module``."""
        if not any(
            _IS_GIVEN.match(raw, raw.rfind(b"\n", 0, found.start()) + 1, found.start())
            for found in _WORD.finditer(raw)
        ):
            return
        try:
            tree = parse(raw.decode().lstrip("\ufeff"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        for name, word in _given(tree.body):
            if _is_given_once(tree, name):
                self._hold(f"{module}.{name}", word)
                self._hold(f".{name}", word)
                self._margins[name] = self._margins.get(name, 0) + 1
            else:
                self._hold(f"{module}.{name}", "")
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                self._see_class(node)

    def _see_class(self, node: ast.ClassDef) -> None:
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        if not bases <= _BASES or node.keywords:
            return
        is_enum = not bases.isdisjoint({"Enum", "StrEnum"})
        for name, word in _given(node.body):
            if is_enum:
                self._hold(f"{node.name}.{name}.value", word)
            # A member of a plain enumeration is no string.
            if not is_enum or not bases.isdisjoint({"str", "StrEnum"}):
                self._hold(f"{node.name}.{name}", word)

    def _hold(self, key: str, word: str) -> None:
        self._held.setdefault(key, set()).add(word)

    def words(self, texts: Iterable[bytes]) -> dict[str, str]:
        """Return the words of those that none of these texts, which are all of the tree, gives another."""
        names = {key.removesuffix(".value").rpartition(".")[2] for key in self._held}
        if not names:
            return {}
        given = re.compile(
            rf"(^|\.)({'|'.join(sorted(names))})[ \t]*(?::[^=\n]+)?=(?!=)".encode(), re.MULTILINE
        )
        margins: dict[str, int] = {}
        outside: set[str] = set()
        for raw in texts:
            for dot, name in given.findall(raw):
                if dot:
                    outside.add(name.decode())
                else:
                    margins[name.decode()] = margins.get(name.decode(), 0) + 1
        found = {}
        for key, words in self._held.items():
            name = key.removesuffix(".value").rpartition(".")[2]
            several = key.startswith(".") and margins.get(name) != self._margins.get(name)
            if len(words) == 1 and "" not in words and name not in outside and not several:
                (found[key],) = words
        return found


def words_of(source: str) -> dict[str, str]:
    """Return the words of the constants of one text whose tree is not known."""
    found, raw = Constants(), source.encode(errors="replace")
    found.see(raw, "")
    return found.words([raw])


def _says(name: str) -> bool:
    return SAYS_ITS_DEVICE.search(name) is not None


def _given(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Yield the names that say a device and are given its word in a module or a class, with that; nothing for another value."""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if _says(name):
            said = value.value if isinstance(value, ast.Constant) else None
            yield name, said if isinstance(said, str) and _DEVICE.match(said) else ""


def _is_given_once(tree: ast.Module, name: str) -> bool:
    """Tell whether a module gives a name a value in one place alone; what functions call so is theirs, unless they say ``global``."""
    times = 0
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(isinstance(n, ast.Global) and name in n.names for n in ast.walk(node)):
                return False
        elif not isinstance(node, (ast.ClassDef, ast.Lambda)):
            stack.extend(ast.iter_child_nodes(node))
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            times += 1
    return times == 1
