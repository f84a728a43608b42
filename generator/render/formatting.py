"""Emitted files as black writes them.

Lists of imports are written so, and black is not asked about them. What it made of other files is remembered;
the rest is done on all processors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from generator.errors import GenerationError
from generator.render.imports import only_imports
from generator.running.caches import folder
from generator.running.garbage import uncollected
from generator.running.memo import Memo, digest
from generator.running.workers import available, chunks, pool

if TYPE_CHECKING:
    from black.mode import Mode

__all__ = ["Formatter", "formatting"]

_WORTH_PROCESSES = 20_000  # characters to format: fewer are done before a process has started
_DEFINITION = re.compile(r"(?<=\n)\n\n(?=(?:def |@|_mirror\.))")
_CHUNK = 8000  # characters that a worker is given at a time: a tenth of a second


@contextmanager
def formatting() -> Iterator[Formatter]:
    """Give a formatter; its worker processes, if it needs any, end with the block."""
    with ExitStack() as stack:
        yield Formatter(stack)


class Formatter:
    """Takes emitted files one by one, so that they are formatted while the next ones are rendered."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._memo = Memo(folder() / "formatted.json")
        self._version = version("black")
        self._done: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._waiting: dict[str, str] = {}
        self._begun: list[Future[dict[str, str]]] = []
        self._workers: Executor | None = None

    def __contains__(self, path: str) -> bool:
        return path in self._done or path in self._keys

    def add(self, path: str, text: str) -> None:
        """Format the file ``path``, a path relative to the output folder."""
        if only_imports(text):
            self._done[path] = text
            return
        key = self._keys[path] = digest(self._version, path, text)
        if not self._memo.knows(key):
            self._waiting[path] = text
            self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting files to the workers, once there are enough of them."""
        size = sum(map(len, self._waiting.values()))
        if self._workers is None:
            if size < _WORTH_PROCESSES or not available():
                return
            self._workers = self._stack.enter_context(pool(available()))
        if size >= _CHUNK:
            sized = ((file, len(file[1])) for file in self._waiting.items())
            for chunk in chunks(sized, _CHUNK):
                self._begun.append(self._workers.submit(_formatted, dict(chunk)))
            self._waiting = {}

    def finish(self) -> dict[str, str]:
        """Return every file that was added, formatted.

        Raises:
            GenerationError: black cannot parse one.
        """
        made = _formatted(self._waiting)
        try:
            for future in self._begun:
                made |= future.result()
        except BrokenExecutor:
            raise GenerationError(
                "a process that formats the emitted files was killed, perhaps because the machine has too "
                "little memory. Nothing was written; run the command again."
            ) from None
        files = self._done | {
            path: self._memo.get(key, partial(made.__getitem__, path))
            for path, key in self._keys.items()
        }
        self._memo.save()
        return files


def _formatted(files: dict[str, str]) -> dict[str, str]:
    """Format some files, here or in a worker."""
    with uncollected():
        return {path: _format(path, text) for path, text in files.items()}


def _format(path: str, text: str) -> str:
    if not path.endswith((".py", ".pyi")):
        return text
    # Here, because where every file is remembered nothing needs it.
    from black import format_str
    from black.parsing import InvalidInput

    mode = _mode(path.endswith(".pyi"))
    try:
        # One definition at a time: black goes twice over all of a text in which it changes something.
        parts = (format_str(part, mode=mode) for part in _DEFINITION.split(text))
        return "\n\n".join(parts)
    except InvalidInput as error:
        raise GenerationError(f"the templates emit invalid Python for {path}: {error}.") from None


@cache
def _mode(stub: bool) -> Mode:
    from black.mode import Mode, TargetVersion

    return Mode(line_length=100, target_versions={TargetVersion.PY310}, is_pyi=stub)
