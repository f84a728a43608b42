"""Finds the modules of a tree that nothing but what stays CUDA's leads to: no other device ever gets there.

Such a module is about CUDA by its name, that of a folder around it, or a package that it imports at its margin; and all that
imports it, tests aside, is left whole itself, does so where a question for CUDA opens that, or uses it in functions that are
registered for CUDA. Whatever else may lead there, a script, a package's own list of names, makes it one that is reached.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal

from tdev_core.codemod.engine.api import ProgramTree
from tdev_core.codemod.engine.importing import OF_AN_ENGINE, Importing, Module
from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.gates import Gates
from tdev_core.codemod.engine.python.lines import Lines, Span
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.ecosystem.package_table import packages, stand_ins

_OF_KERNELS = re.compile(
    r"(?:\w+_)?(?:kernels?|triton|cutlass)(?:_\w+)?\Z|\w*cuda\w*\Z", re.IGNORECASE
)
# What a module that is called so has of CUDA which has no like elsewhere.
_ONLY_CUDAS = re.compile(
    rb"cuda_?graph|cuda\.(?:graph|MemPool|jiterator|cudart|nccl)\b|_C\._cuda|cublas|cudnn|cutlass|triton|torch\.ops\.|\bsm_?[789]\d",
    re.IGNORECASE,
)
# A package for which a stand-in answers needs no CUDA.
_PACKAGES = "|".join(map(re.escape, sorted(packages().keys() - stand_ins().keys())))
_BUILT_ON = re.compile(rf"\n(?:from|import)[ \t]+(?:{_PACKAGES}|{OF_AN_ENGINE})\b".encode())
# What imports a module by a word, and a package that imports all that lies in it.
_BY_A_WORD = (
    *(b"import_module", b"__import__", b"find_spec", b"lazy_", b"lazyload"),
    *(b"LazyModule", b"LazyLoad", b"LazyImport"),
)
_ALL_OF_IT = re.compile(rb"iter_modules|walk_packages|\bglob\(|listdir\(|scandir\(")
_LAST_WORDS = re.compile(rb"[\"'](?:[\w.]*\.)?(\w+)[\"']")
_FOR_CUDA = re.compile(r"(?:\w+\.)*(?:impl|register_kernel)\(.*[\"'](?:CUDA|cuda)[\"']")


_SIGNS = (b"impl(", b"register_kernel(")
_SIGNS_INSIDE = (b".is_cuda", b"'cuda'", b'"cuda"', b"torch.cuda.is_available", b"TYPE_CHECKING")


def may_be_behind(raw: bytes, name: str) -> bool:
    """Tell whether a module of a package may be one that only CUDA reaches."""
    if "." not in name:
        return False
    if _BUILT_ON.search(b"\n" + raw) is not None:
        return True
    called = any(_OF_KERNELS.match(part) for part in name.split(".")[1:])
    return called and _ONLY_CUDAS.search(name.encode() + b"\n" + raw) is not None


def behind_cuda(importing: Importing, stay: Iterable[str], tree: ProgramTree) -> dict[str, str]:
    """Return the modules that only CUDA reaches, and why in words.

    Args:
        stay: those that are left whole by themselves.
    """
    modules = importing.modules
    stays = {*stay, *(name for name in modules if _is_of_a_room(name, tree))}
    about = {
        name
        for name, module in modules.items()
        if name not in stays and may_be_behind(module.raw, name)
    }
    if not about:
        return {}
    run = {name: module for name, module in modules.items() if not module.of_tests}
    ways: dict[str, set[str]] = {
        name: modules.keys() & _around(name) for name in run.keys() - stays
    }
    leads: dict[str, str] = {}
    kept = {name: _Kept(module.raw, tree) for name, module in run.items() if name not in stays}
    asked: list[tuple[str, int, set[str]]] = []
    for name in run:
        for at, imported in importing.statements(name):
            if name in stays:
                leads.update({each: name for each in imported if each not in leads})
            elif about.isdisjoint(imported) or not kept[name].may_be_kept(at):
                ways[name] |= imported
            else:
                asked.append((name, at, imported))
    # A file is parsed only where nothing else has led there yet.
    found = _reached(run.keys() - about - stays, ways, stays)
    for name, at, imported in asked:
        way = "open" if imported & about <= found else kept[name].way(at, run)
        if way == "open":
            ways[name] |= imported
        elif way == "cuda":
            leads.update({each: name for each in imported if each not in leads})
    led = about & leads.keys()
    todo = sorted(led)
    for name in todo:
        for to in sorted(ways.get(name, set()) & about - led - _around(name)):
            leads[to] = name
            led.add(to)
            todo.append(to)
    entered = _entered(led, {n: module for n, module in run.items() if n not in stays})
    reached = _reached((run.keys() - led | entered) - stays, ways, stays)
    return {
        name: f"{leads[name]} imports this file where only CUDA comes, and nothing else does"
        for name in led - reached
    }


def _reached(roots: set[str], ways: Mapping[str, set[str]], stays: set[str]) -> set[str]:
    found, todo = set(roots), list(roots)
    while todo:
        more = ways.get(todo.pop(), set()) - found - stays
        found |= more
        todo += more
    return found


def _is_of_a_room(name: str, tree: ProgramTree) -> bool:
    """Tell whether a module is left with the kernels around it."""
    return name not in tree.kernel_modules and any(
        name.startswith(f"{room}.") for room in tree.kernel_rooms
    )


def _entered(names: set[str], modules: Mapping[str, Module]) -> set[str]:
    """Return which of these modules are programs of their own, or may be imported by a name in a text, or with all of their package."""
    if not names:
        return set()
    words = {
        word.decode()
        for module in modules.values()
        if any(sign in module.raw for sign in _BY_A_WORD)
        for word in _LAST_WORDS.findall(module.raw)
    }
    whole = {n for n, m in modules.items() if m.is_package and _ALL_OF_IT.search(m.raw) is not None}
    return {
        name
        for name in names
        if modules[name].starts
        or name.rpartition(".")[2] in words
        or not whole.isdisjoint(_around(name))
    }


def _around(name: str) -> set[str]:
    parts = name.split(".")
    return {".".join(parts[:length]) for length in range(1, len(parts))}


class _Kept:
    """The imports of a module that is not left whole: where they stand."""

    def __init__(self, raw: bytes, tree: ProgramTree) -> None:
        self._raw = raw
        self._tree = tree

    def way(self, at: int, modules: Mapping[str, Module]) -> Literal["open", "cuda", "none"]:
        """Tell whether an import of the text is of whoever comes, of CUDA alone, or of nobody who runs the program."""
        python = self._python
        if python is None:
            return "open"
        line = self._raw.count(b"\n", 0, at + 1) + 1
        node = next((each for each in python.imports if each.lineno == line), None)
        if node is None:
            return "none"  # in prose
        if any(_is_for_types(each) for each in python.ancestors(node)):
            return "none"
        start, _ = python.span(node)
        if any(low <= start < high for low, high in self._opened):
            return "cuda"
        if node in python.module.body and self._is_for_kernels(node, modules):
            return "cuda"
        return "open"

    def may_be_kept(self, at: int) -> bool:
        """Tell by the words of the text whether an import may be one of CUDA's alone: to parse it takes far longer."""
        inside = self._raw[at : at + 2] not in (b"\nf", b"\ni", b"fr", b"im")
        return any(sign in self._raw for sign in (_SIGNS_INSIDE if inside else _SIGNS))

    @cached_property
    def _python(self) -> PythonTree | None:
        try:
            python = PythonTree(Lines(self._raw.decode().lstrip("\ufeff")))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        _ = python.everything
        return python

    @cached_property
    def _opened(self) -> list[Span]:
        """The places that a question for CUDA opens, and nothing else."""
        python = self._python
        if python is None:
            return []
        asked = [(python.span(each), no) for node in python.everything for each, no in _asks(node)]
        others = Others(self._tree, self._raw.decode())
        return [span for span, _ in Gates(python, asked, (), (), others).opened()]

    def _is_for_kernels(
        self, node: ast.Import | ast.ImportFrom, modules: Mapping[str, Module]
    ) -> bool:
        """Tell whether all that is imported is used, in no other file, and in functions that torch calls for CUDA alone."""
        python = self._python
        names = {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        if python is None or not all(python.reads.get(name) for name in names):
            return False
        for read in (each for name in names for each in python.reads[name]):
            functions = [n for n in python.ancestors(read) if isinstance(n, ast.FunctionDef)]
            if not any(
                _FOR_CUDA.match(ast.unparse(each)) for f in functions for each in f.decorator_list
            ):
                return False
        said = re.compile(rb"import[^\n]*\b(?:%s)\b" % "|".join(sorted(names)).encode())
        return sum(said.search(module.raw) is not None for module in modules.values()) == 1


def _asks(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """Yield a question for CUDA, and whether it asks for another device instead; nothing, where there is none."""
    match node:
        case ast.Compare(
            left=ast.Attribute(attr="type"), ops=[op], comparators=[ast.Constant(value="cuda")]
        ) if isinstance(op, (ast.Eq, ast.NotEq)):
            yield node, isinstance(op, ast.NotEq)
        case ast.Attribute(attr="is_cuda"):
            yield node, False
        case ast.Attribute(
            value=ast.Attribute(value=ast.Name(id="torch"), attr="cuda"), attr="is_available"
        ):
            yield node, False
        case _:
            pass


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
