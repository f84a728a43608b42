"""Import every public module of torch, without letting any of them stop or change the walk.

What can be imported must not depend on what else is installed: while the walk imports, only the
standard library, torch and torch's own requirements can be found. A module that wants something
optional is skipped on every machine, also where the option is there.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import io
import pkgutil
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from generator.facts.sources import ROOTS

Progress = Callable[[str, int, int], None]  # stage, done, total (0 where it is not known)

# numpy is no declared requirement of torch, but without it torch itself is a different library.
# distutils left the standard library with Python 3.12; from then on setuptools lends its own.
_ALSO = ("numpy", "_distutils_hack", "distutils", "pkg_resources")


@dataclass(frozen=True, slots=True)
class Walked:
    """The modules by name in sorted order, and what was skipped with the reason.

    ``rebound`` are submodules whose import replaces an attribute of their package that is something
    else until then (``torch.quantization.fx.prepare`` is a function before, a module after). The
    attribute is put back, so that facts are about a program that has not imported everything.
    """

    modules: dict[str, ModuleType]
    skipped: tuple[tuple[str, str], ...]
    rebound: tuple[str, ...] = ()


def is_public(path: str) -> bool:
    """Tell whether no part of a dotted path starts with an underscore."""
    return not any(part.startswith("_") for part in path.split("."))


@cache
def requirements(distribution: str = "torch") -> frozenset[str]:
    """Top-level packages that a distribution needs, directly or not, as import names."""
    found: set[str] = set()
    queue, seen = [distribution], set()
    while queue:
        name = _canonical(queue.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            needed = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found |= _packages(needed)
        queue += [
            re.split(r"[\s<>=!~;\[(]", line, maxsplit=1)[0]
            for line in needed.requires or []
            if "extra ==" not in line and "extra==" not in line
        ]
    return frozenset(found) | _vendored()


def _packages(distribution: importlib.metadata.Distribution) -> set[str]:
    """Return its import names: as it lists them, or by its files, which Python 3.10 does not look at."""
    listed = distribution.read_text("top_level.txt")
    if listed:
        return set(listed.split())
    files = [path for path in distribution.files or () if path.suffix == ".py"]
    return {path.parts[0] if len(path.parts) > 1 else path.stem for path in files}


def _vendored() -> frozenset[str]:
    """Return what setuptools brings along and lends to everybody where it is not installed itself."""
    spec = importlib.machinery.PathFinder.find_spec("setuptools")
    if spec is None or spec.origin is None:
        return frozenset()
    folder = Path(spec.origin).parent / "_vendor"
    return frozenset(info.name for info in pkgutil.iter_modules([str(folder)])) | {"jaraco"}


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


class _OnlyRequirements(importlib.abc.MetaPathFinder):
    """Stands in for all finders and finds, for the importing thread, only what torch requires.

    Others are "not found" and not "forbidden", because torch also asks `find_spec` politely.
    """

    def __init__(self, finders: list[importlib.abc.MetaPathFinder], allowed: frozenset[str]):
        self.finders, self.allowed = finders, allowed
        self.thread = threading.get_ident()  # a progress display may import in its own thread

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in self.finders:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                return spec if self._may(fullname, spec) else None
        return None

    def _may(self, fullname: str, spec: importlib.machinery.ModuleSpec) -> bool:
        top = fullname.partition(".")[0]
        if top in self.allowed or threading.get_ident() != self.thread:
            return True
        return top.startswith("_sysconfigdata")  # Python's own data about its build

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Yield what ``importlib.metadata`` asks of finders; requirements are checked by import only."""
        for finder in self.finders:
            if hasattr(finder, "find_distributions"):
                yield from finder.find_distributions(context)


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """Quiet imports: no output, no warnings, nothing importable beyond torch's requirements."""
    allowed = frozenset(sys.stdlib_module_names) | requirements() | {*ROOTS, *_ALSO}
    finders = list(sys.meta_path)
    sys.meta_path[:] = [
        _OnlyRequirements(cast("list[importlib.abc.MetaPathFinder]", finders), allowed)
    ]
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        # Finders that an import added (torch has none, its requirements may) are kept.
        added = [item for item in sys.meta_path if not isinstance(item, _OnlyRequirements)]
        sys.meta_path[:] = [*added, *finders]


def walk(progress: Progress | None = None) -> Walked:
    """Import ``torch`` and every public submodule, parents before children, by name."""
    modules: dict[str, ModuleType] = {}
    skipped: list[tuple[str, str]] = []
    rebound: list[str] = []
    queue = ["torch"]
    while queue:
        name = queue.pop()
        if progress:
            progress("import", len(modules), 0)
        parent, _, child = name.rpartition(".")
        before = vars(modules[parent]).get(child) if parent else None
        try:
            with guarded():
                module = importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a module may even call sys.exit
            skipped.append((name, _reason(error)))
            continue
        modules[name] = module
        if before is not None and vars(modules[parent]).get(child) is not before:
            setattr(modules[parent], child, before)
            rebound.append(name)
        children = sorted(
            info.name
            for info in pkgutil.iter_modules(getattr(module, "__path__", None) or [])
            if not info.name.startswith("_")
        )
        queue += [f"{name}.{child}" for child in reversed(children)]
    for name in sorted(set(sys.modules) - set(modules)):
        # torch.ops and torch.classes have no file of their own and can be imported all the same.
        if name.startswith("torch.") and is_public(name) and name.rpartition(".")[0] in modules:
            if getattr(sys.modules[name], "__spec__", None) is None:
                modules[name] = sys.modules[name]
    return Walked(dict(sorted(modules.items())), tuple(sorted(skipped)), tuple(sorted(rebound)))


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package not in ROOTS:
            return f"needs the optional package {package}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200]
