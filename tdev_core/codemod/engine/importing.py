"""Follows the imports of a tree's modules to those that cannot be imported without CUDA.

Only what stands at the margin counts: an import inside ``try``, ``if`` or a function can be done without. Not so one that is
tried there to raise an error of the program's own, which tells what a package outside the table needs, too. Importing
``pkg.a.b`` imports ``pkg`` and ``pkg.a`` first.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from pathlib import PurePath
from typing import NamedTuple

from tdev_core.codemod.engine.stand_in_names import lacks
from tdev_core.codemod.engine.survey import is_for_tests, is_script
from tdev_core.codemod.engine.vocabulary import LIBRARIES
from tdev_core.ecosystem.package_table import of_module, packages, stand_ins

_IMPORTS = rb"(?:from[ \t]+([.\w]+)[ \t]+import[ \t]*(\([^)]*\)|[^\n;#]*)|import[ \t]+([^\n;#]+))"
_IMPORT = re.compile(rb"(?:^|\n)" + _IMPORTS)
# In a block, and on a line behind its head or another statement.
_INSIDE = re.compile(rb"\n[ \t]+" + _IMPORTS)
_ON_A_LINE = re.compile(rb"[:;][ \t]*" + _IMPORTS)
_NAME = re.compile(rb"[\w.]+(?:[ \t]+as[ \t]+\w+)?")
_NEEDED = frozenset(known.name for known in packages().values() if known.needs_cuda)
# vLLM's own workers for CUDA and ROCm, beside those for other platforms: `vllm.v1.worker.gpu_model_runner`.
_OF_WORKERS = r"vllm\.(?:v1\.)?worker"
_WORKER = rf"{_OF_WORKERS}\.(?:worker|model_runner|cache_engine|gpu_\w+)"
OF_AN_ENGINE = r"vllm\.(?:v1\.)?(?:worker|model_executor|attention|core|executor|engine)"
"""What vLLM is made of, by whatever platform it runs on."""
_OF_A_WORKER = re.compile(rf"{_WORKER}\b")
_MAY_NEED = re.compile(
    rf"\n(?:from|import)[ \t]+(?:{'|'.join(map(re.escape, sorted(_NEEDED)))}|{_OF_WORKERS})\b".encode()
)


_CATCHES = ("ImportError", "ModuleNotFoundError", "Exception")
_SAYS_CUDA = re.compile(r"\bcuda\b", re.IGNORECASE)
_SAYS_OTHERS = re.compile(r"\b(?:cpu|mps|rocm|xpu)\b", re.IGNORECASE)


def refused(module: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the imports of packages for CUDA at a margin that are tried, and whose absence is an error there as well.

    Of a package outside the table that error says it: ``raise ImportError("… This only works with CUDA.")``.
    """
    for tried in module.body:
        if not isinstance(tried, ast.Try):
            continue
        handler = next((each for each in tried.handlers if _catches(each)), None)
        if handler is None or not isinstance(handler.body[-1], ast.Raise):
            continue
        said = " ".join(
            str(each.value)
            for each in ast.walk(handler)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        )
        needs_cuda = _SAYS_CUDA.search(said) is not None and _SAYS_OTHERS.search(said) is None
        for line in tried.body:
            if not isinstance(line, (ast.Import, ast.ImportFrom)):
                continue
            name = getattr(line, "module", None) or line.names[0].name
            if package := _package_for_cuda(line):
                yield line, package
            elif needs_cuda and name.partition(".")[0] not in {"torch", *LIBRARIES}:
                yield line, name


def _catches(handler: ast.ExceptHandler) -> bool:
    caught = handler.type
    if caught is None:
        return True
    kinds = caught.elts if isinstance(caught, ast.Tuple) else [caught]
    return any(isinstance(kind, ast.Name) and kind.id in _CATCHES for kind in kinds)


_EXTENSION = re.compile(rb"\w_(?:ext|cuda)\Z")
_MAY_TAKE_EXTENSION = re.compile(rb"\nfrom[ \t][^\n]*\bimport\b[^\n]*\w_(?:ext|cuda)\b")


def may_need(raw: bytes) -> bool:
    """Tell whether a module may be one that cannot be imported without CUDA."""
    if (b"_ext" in raw or b"_cuda" in raw) and _MAY_TAKE_EXTENSION.search(b"\n" + raw):
        return True
    return needed(raw) != ""


def needed(raw: bytes, own: Collection[str] = ()) -> str:
    """Return the package for CUDA without which a module cannot be imported; empty where there is none.

    Args:
        own: the packages of the tree itself.
    """
    # From a line's end, which `re` looks for many times faster than for that or the text's start.
    tries = b"\nexcept" in raw and b"raise" in raw
    if not (tries or _MAY_NEED.search(raw) or _MAY_NEED.match(b"\n" + raw[:200])):
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(raw)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    named = (package for node in module.body if (package := _package_for_cuda(node)))
    caught = (package for _, package in (*refused(module), *workers(module.body, own)))
    return next(named, "") or next(caught, "")


def _package_for_cuda(node: ast.stmt) -> str:
    """Return the package of the table that an import needs CUDA for; empty where it needs none."""
    named = _modules_of(node)
    for name in named:
        known = of_module(name)
        if known is None or known.name not in _NEEDED:
            continue
        if known.name not in stand_ins() or _asks_for_more(node, name):
            return known.name
    return ""


def _modules_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []


def workers(body: Iterable[ast.stmt], own: Collection[str]) -> Iterator[tuple[ast.stmt, str]]:
    """Yield the imports among statements of vLLM's workers for GPUs, which what builds on them runs in.

    Args:
        own: the packages of the tree itself.
    """
    for node in body if "vllm" not in own else ():
        names = _modules_of(node)
        if isinstance(node, ast.ImportFrom):
            names += [f"{name}.{alias.name}" for name in names for alias in node.names]
        if found := [name for name in names if _OF_A_WORKER.match(name)]:
            yield node, found[0]


def _asks_for_more(node: ast.stmt, module: str) -> bool:
    """Tell whether an import names what the stand-in of its package lacks."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
    return "*" not in names and lacks(module, names)


BESIDE = "//"
"""Between the folder and the name of a module that lies in no package."""


class Module(NamedTuple):
    """A module of a tree, as far as its imports go."""

    raw: bytes
    is_package: bool
    of_tests: bool
    starts: bool
    """Whether it is a program that is started."""


class Importing:
    """The modules of a tree by their dotted names, and what each imports at its margin.

    ``compiled`` are those that compile extensions: what takes one from them needs it. ``own`` are the packages of the tree.
    """

    def __init__(self, compiled: frozenset[str], own: Collection[str]) -> None:
        self._compiled = compiled
        self._own = own
        self.modules: dict[str, Module] = {}
        self._needs: dict[str, str] = {}

    def see(self, name: str, path: PurePath, raw: bytes) -> None:
        """Take a module into account; ``name`` is what an absolute import calls it."""
        is_package = path.stem == "__init__"
        self.modules[name] = Module(raw, is_package, is_for_tests(path), is_script(path, raw))
        if package := needed(raw, self._own):
            self._needs[name] = package

    def needing(self) -> Iterator[str]:
        """Yield the modules of packages that themselves import what cannot be imported without CUDA."""
        return (name for name in self._needs if BESIDE not in name)

    def reaching(self) -> dict[str, str]:
        """Return the modules that cannot be imported because of another, and through which, in words."""
        importers: dict[str, list[str]] = {}
        for name, (raw, is_package, *_) in self.modules.items():
            for imported in self._of(name, raw, is_package):
                importers.setdefault(imported, []).append(name)
            for imported in _imported(_shown(name), raw, is_package) if self._compiled else ():
                base, _, last = imported.rpartition(".")
                if base in self._compiled and _EXTENSION.search(last.encode()):
                    self._needs.setdefault(name, last)
        through: dict[str, str] = {}
        waiting = deque((name, package) for name, package in sorted(self._needs.items()))
        while waiting:
            name, package = waiting.popleft()
            for importer in importers.get(name, ()):
                if importer not in through and importer not in self._needs:
                    through[importer] = f"{_shown(name)}, which it imports, needs {package}"
                    waiting.append((importer, package))
        return through

    def statements(self, name: str) -> Iterator[tuple[int, set[str]]]:
        """Yield where a module imports something of the tree, wherever that stands, and what."""
        raw, is_package, *_ = self.modules[name]
        for pattern in (_IMPORT, _INSIDE, _ON_A_LINE):
            for found in pattern.finditer(raw):
                names = list(_named_by(found, _shown(name), is_package))
                if among := self._among(name, names) - {name}:
                    yield found.start(), among

    def _of(self, name: str, raw: bytes, is_package: bool) -> set[str]:
        found = self._among(name, list(_imported(_shown(name), raw, is_package)))
        if BESIDE not in name:
            found |= {part for part in _chain(name) if part in self.modules}
        return found - {name}

    def _among(self, name: str, imported: list[str]) -> set[str]:
        """Return the modules that an import of ``name`` stands for, and the packages around them."""
        found = {part for each in imported for part in _chain(each) if part in self.modules}
        folder, beside, _ = name.rpartition(BESIDE)
        if beside:
            near = (f"{folder}{BESIDE}{each}" for each in imported)
            found |= {each for each in near if each in self.modules}
        return found


def _shown(name: str) -> str:
    return name.rpartition(BESIDE)[2]


def _chain(name: str) -> Iterator[str]:
    """Yield a dotted name and the packages around it."""
    while name:
        yield name
        name = name.rpartition(".")[0]


def _imported(name: str, raw: bytes, is_package: bool) -> Iterator[str]:
    """Yield the dotted names that a module imports at its margin."""
    for found in _IMPORT.finditer(raw):
        yield from _named_by(found, name, is_package)


def _named_by(found: re.Match[bytes], name: str, is_package: bool) -> Iterator[str]:
    """Yield the dotted names that one import of a module names."""
    if found[3] is not None:
        for part in _NAME.findall(found[3]):
            yield part.split()[0].decode("ascii", "ignore")
        return
    here = name.split(".") if is_package else name.split(".")[:-1]
    module = found[1].decode("ascii", "ignore")
    dots = len(module) - len(module.lstrip("."))
    if dots > len(here) + 1:
        return
    base = ".".join([*here[: len(here) - dots + 1], module.lstrip(".")] if dots else [module])
    base = base.strip(".")
    yield base
    for part in _NAME.findall(re.sub(rb"#[^\n]*", b"", found[2])):
        yield f"{base}.{part.split()[0].decode('ascii', 'ignore')}"
