"""torch's source files by module, each read once: here, or before it is asked for by other processes.

Importing torch keeps one processor busy for seconds. Meanwhile worker processes can read what will be
asked for afterwards: the public modules, their stubs, and what they import. The answers are the same,
whoever reads them.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from generator.facts.outlines import read_outline
from generator.facts.scopes import Scope, visible
from generator.facts.sources import ROOTS, ModuleSource, read_if_source
from generator.running.garbage import uncollected
from generator.running.workers import chunks

__all__ = ["Library"]

_CHUNK = 1 << 18  # bytes of source that a worker is given at a time: a tenth of a second


class _File(NamedTuple):
    module: str
    path: str
    is_package: bool


# What was read, and the files that it imports public names from.
_Answer = tuple[dict[_File, ModuleSource | None], list[_File]]


class Library:
    """Reads the source files of the installed torch.

    With ``pool`` its processes begin at once to read ahead. Where they are not done yet, a file is
    waited for or read here.
    """

    def __init__(self, pool: Executor | None = None) -> None:
        self._pool = pool
        self._read: dict[_File, ModuleSource | None] = {}
        self._ahead: dict[_File, Future[_Answer]] = {}
        self._outlined: dict[_File, Scope | None] = {}
        self._outlining: list[Future[dict[_File, Scope | None]]] = []
        if pool is not None:
            self._read_ahead(file for file in _files() if _is_asked_for(file))

    def source(self, module: str, path: str, is_package: bool) -> ModuleSource | None:
        """Return what the file at ``path`` says as the module of that name; None where it is no source."""
        file = _File(module, path, is_package)
        if file not in self._read:
            self._receive(file)
        if file not in self._read:
            self._read[file] = read_if_source(*file)
        return self._read[file]

    def checked(self, module: str) -> ModuleSource | None:
        """Return what a type checker reads for a module of torch: its stub, or else its source."""
        file = _checked(module)
        return self.source(*file) if file else None

    def visible(self, module: str) -> frozenset[str]:
        """Return the names that a type checker sees in a module of torch."""
        return visible(module, self.scope)

    def scope(self, module: str) -> Scope | None:
        """Return what a type checker sees in the file of a module of torch; None where it has none."""
        file = _checked(module)
        if file is None:
            return None
        if file in self._read or file in self._ahead or _is_asked_for(file):
            source = self.source(*file)
            return source.scope if source else None
        for future in self._outlining:
            with suppress(BrokenExecutor):  # a worker was killed: then they are read here
                self._outlined |= future.result()
        self._outlining = []
        if file not in self._outlined:
            self._outlined[file] = read_outline(*file)
        return self._outlined[file]

    def outline_ahead(self, modules: Iterable[str]) -> None:
        """Have the workers, if there are any, read what ``scope`` is going to be asked for."""
        if self._pool is None:
            return
        files = [file for module in modules if (file := _checked(module)) is not None]
        new = [file for file in files if file not in self._ahead and not _is_asked_for(file)]
        for chunk in chunks(((file, os.path.getsize(file.path)) for file in new), _CHUNK):
            self._outlining.append(self._pool.submit(_outline_all, chunk))

    def private(self) -> list[str]:
        """Return every module of torch below a name that starts with an underscore, sorted."""
        return sorted({file.module for file in _files() if not _is_public(file)})

    def file(self, module: str) -> tuple[str, bool]:
        """Tell where a type checker reads a module of torch, and whether that is a package."""
        file = _checked(module)
        if file is None:
            raise ModuleNotFoundError(module)
        return file.path, file.is_package

    def stubs(self) -> list[str]:
        """Return every module of torch that has a stub, sorted."""
        return sorted(file.module for file in _files() if file.path.endswith(".pyi"))

    def _read_ahead(self, files: Iterable[_File]) -> None:
        assert self._pool is not None
        new = ((file, os.path.getsize(file.path)) for file in files if file not in self._ahead)
        for chunk in chunks(new, _CHUNK):
            try:
                future = self._pool.submit(_read_all, chunk)
            except RuntimeError:
                return  # the pool is closing: nobody waits for these any more
            self._ahead.update(dict.fromkeys(chunk, future))
            future.add_done_callback(self._follow)

    def _follow(self, done: Future[_Answer]) -> None:
        """Read ahead what the files of a chunk import; called in a thread of the pool's."""
        if not done.cancelled() and done.exception() is None:
            self._read_ahead(done.result()[1])

    def _receive(self, file: _File) -> None:
        future = self._ahead.get(file)
        if future is None or future.cancel():
            return  # nobody has begun to read it
        try:
            read, _ = future.result()
        except BrokenExecutor:
            return  # a worker was killed; what it would have said can be read here
        self._read = {**read, **self._read}


def _read_all(files: list[_File]) -> _Answer:
    """Read some files, in a worker."""
    with uncollected():
        read = {file: read_if_source(*file) for file in files}
    wanted = [_imported(source) for file, source in read.items() if source and _is_public(file)]
    return read, list(dict.fromkeys(file for files in wanted for file in files))


def _outline_all(files: list[_File]) -> dict[_File, Scope | None]:
    """Read the top levels of some files, in a worker."""
    with uncollected():
        return {file: read_outline(*file) for file in files}


def _imported(source: ModuleSource) -> Iterator[_File]:
    """Yield the files of private modules that public names of ``source`` come from."""
    public = [target for bound, target in source.imports.items() if not bound.startswith("_")]
    for path in (*public, *source.stars):
        while path.partition(".")[0] in ROOTS:
            file = _find(path, ".py")
            if file is not None:
                if not _is_public(file):
                    yield file
                break
            path = path.rpartition(".")[0]


def _is_asked_for(file: _File) -> bool:
    """Tell whether every introspection reads a file of torch."""
    return _is_public(file) or file.path.endswith(".pyi")


def _is_public(file: _File) -> bool:
    return "._" not in file.module


@cache
def _files() -> tuple[_File, ...]:
    """Return every source and stub in the torch package, sorted; its folders of headers hold none."""
    found: list[_File] = []
    stack = [(Path(_folder("torch")), "torch")]
    while stack:
        folder, package = stack.pop()
        with os.scandir(folder) as scanned:
            entries = list(scanned)
        sources = [entry for entry in entries if entry.name.endswith((".py", ".pyi"))]
        for entry in sources:
            stem = entry.name.partition(".")[0]
            is_package = stem == "__init__"
            found.append(
                _File(package if is_package else f"{package}.{stem}", entry.path, is_package)
            )
        if sources:
            stack += [
                (Path(entry.path), f"{package}.{entry.name}")
                for entry in entries
                if entry.name.isidentifier() and entry.is_dir()
            ]
    return tuple(sorted(found))


def _checked(module: str) -> _File | None:
    """Return the file that a type checker reads for a module of torch: its stub, or else its source."""
    if module.partition(".")[0] != "torch":
        return None
    return _find(module, ".pyi") or _find(module, ".py")


@cache
def _find(module: str, suffix: str) -> _File | None:
    """Return the file of a module; asking Python's finders would run code."""
    top, _, rest = module.partition(".")
    base = os.path.join(_folder(top), *rest.split(".")) if rest else _folder(top)
    for path, is_package in (
        (os.path.join(base, f"__init__{suffix}"), True),
        (base + suffix, False),
    ):
        if os.path.isfile(path):
            return _File(module, path, is_package)
    return None


@cache
def _folder(package: str) -> str:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(package)
    return next(iter(spec.submodule_search_locations))
