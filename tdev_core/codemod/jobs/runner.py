"""Runs over many files: read, turn away, rewrite in workers, write, in the order of the files.

Only this process reads and writes files, one at a time and in order; workers compute. A file that
cannot be handled becomes a result with an error and the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tdev_core.codemod.config import Settings
from tdev_core.codemod.embedded.others import MAX_SIZE, look
from tdev_core.codemod.engine import Options, Style
from tdev_core.codemod.files import write
from tdev_core.codemod.files.discovery import Found
from tdev_core.codemod.files.import_sections import import_sections
from tdev_core.codemod.files.line_length import formatters_width, line_length
from tdev_core.codemod.files.project import is_type_checked, torch_floor
from tdev_core.codemod.files.suites import is_of_a_suite
from tdev_core.codemod.jobs.pool import Pool, default_jobs
from tdev_core.codemod.jobs.process import ENGINE, Job, load_engine
from tdev_core.codemod.jobs.projects import Item, decided, project_around
from tdev_core.codemod.jobs.surveying import survey
from tdev_core.codemod.model import FileResult, Kind, Outcome, Status
from tdev_core.codemod.text import is_generated

NOTEBOOK_FACTOR = 16
"""A notebook may be that much larger than source: most of it is pictures."""

_A_WORKERS_PART = 512 * 1024
"""Bytes of source: reading libcst takes a worker about as long as they do."""

_UNCHANGED = Outcome(Status.UNCHANGED)


@dataclass(frozen=True)
class Plan:
    """The task of a run over its files; ``write`` replaces them, else they are only looked at."""

    settings: Settings
    write: bool
    keep_bytes: bool = False
    """Keep a changed file's old bytes in its result (for a diff)."""
    engine: str = ENGINE
    directories: tuple[Path, ...] = ()
    """Those whose projects are judged as wholes: one of which too much would stay CUDA's is left as it is."""


def options(settings: Settings) -> Options:
    """Return the engine's options for these settings."""
    keep = tuple(mark.strip(" #") for mark in settings.keep)
    style: Style = "alias" if settings.style == "alias" else "explicit"
    if settings.target == "accelerator":
        style = "accelerator"
    return Options(
        style=style, annotate=settings.annotate, docs=settings.docs, all=settings.all, keep=keep
    )


def run(
    files: Sequence[Found], plan: Plan, seen: Callable[[], None] = lambda: None
) -> Generator[FileResult, None, None]:
    """Yield the result for each file in order; in a writing run it is on disk when its result comes.

    ``seen`` is called once for each file that is done with (progress).
    """
    tree, reading = survey(files, options(plan.settings).style), _Reader(plan)
    jobs = plan.settings.jobs or min(default_jobs(), _worth_starting(files))
    whole = bool(plan.directories) and any(project_around(found) is not None for found in files)
    with Pool(jobs, plan.engine, tree) as pool:
        with closing(pool.map(reading.jobs(files))) as outcomes:
            done = _counted(reading.in_order(files, outcomes), seen)
            for found, known, raw in (
                decided(done, plan.directories, plan.settings.target) if whole else done
            ):
                # An interrupt waits until the file that was just written is counted and named.
                with write.deferred_interrupts() if plan.write and known.new else nullcontext():
                    yield _finish(found, known, raw, plan)


def _counted(items: Iterable[Item], seen: Callable[[], None]) -> Iterator[Item]:
    """Yield what comes; ``seen`` is called for each when the next one is asked for."""
    for item in items:
        yield item
        seen()


def _worth_starting(files: Iterable[Found]) -> int:
    """Return how many workers have that much to do that they save more than their start costs."""
    size = 0
    for path in selected(files):
        with suppress(OSError):  # said when it is read
            size += path.stat().st_size
    return 1 + size // _A_WORKERS_PART


def _finish(found: Found, outcome: Outcome, raw: bytes | None, plan: Plan) -> FileResult:
    old = raw if plan.keep_bytes else None
    result = FileResult(found.shown, outcome, old, other=found.kind is Kind.OTHER)
    if outcome.new is None or raw is None or not plan.write:
        return result
    try:
        write.replace(found.path, raw, outcome.new)
    except write.NotWritten as error:
        return result.failed(f"not rewritten: {error}")
    return replace(result, written=True)


class _Reader:
    """Reads files ahead of the workers and remembers, in order, what needs none of them."""

    def __init__(self, plan: Plan) -> None:
        self._limit = plan.settings.max_file_size
        self._options = options(plan.settings)
        self._leaves_tests = not plan.settings.tests and plan.settings.target == "tdev"
        self._engine = load_engine(plan.engine)
        self._known: dict[int, Outcome] = {}
        self._raw: dict[int, bytes] = {}

    def jobs(self, files: Sequence[Found]) -> Iterator[Job]:
        """Yield a job for each file that a worker has to look at."""
        for index, found in enumerate(files):
            answer = self._look(found)
            if isinstance(answer, Outcome):
                self._known[index] = answer
            elif found.kind is Kind.OTHER:
                self._known[index] = look(answer)
                if self._known[index].remarks:
                    self._raw[index] = answer
            else:
                self._raw[index] = answer
                yield Job(found.shown, found.kind, answer, self._options_for(found, answer))

    def _options_for(self, found: Found, raw: bytes) -> Options:
        """Return the options for one file, with what its project says of its lines, its types and its torch."""
        if self._leaves_tests and found.kind is Kind.PYTHON and is_of_a_suite(found.path, raw):
            return replace(self._options, test=True, sections=import_sections(found.path.parent))
        directory = found.path.absolute().parent
        columns = line_length(directory) or formatters_width(directory)
        if self._options.style == "accelerator":
            return replace(
                self._options,
                line_length=columns,
                typed=is_type_checked(directory),
                floor=torch_floor(directory),
            )
        sections = import_sections(directory)
        if not columns and sections is None:
            return self._options
        return replace(self._options, line_length=columns, sections=sections)

    def in_order(
        self, files: Sequence[Found], outcomes: Iterable[Outcome]
    ) -> Iterator[tuple[Found, Outcome, bytes | None]]:
        """Yield each file with its outcome, and its bytes where a worker looked at them."""
        index = 0
        for outcome in outcomes:
            while index in self._known:
                yield files[index], self._known.pop(index), self._raw.pop(index, None)
                index += 1
            yield files[index], outcome, self._raw.pop(index)
            index += 1
        while index in self._known:
            yield files[index], self._known.pop(index), self._raw.pop(index, None)
            index += 1

    def _look(self, found: Found) -> Outcome | bytes:
        if found.error:
            return Outcome(Status.ERROR, found.error)
        if found.skip:
            return Outcome(Status.SKIPPED, f"skipped: {found.skip}")
        limit = self._limit * (NOTEBOOK_FACTOR if found.kind is Kind.NOTEBOOK else 1)
        try:
            size = found.path.stat().st_size
            if size > limit and found.kind is not Kind.OTHER:
                reason = f"{size:,} bytes, more than max-file-size allows ({limit:,})"
                return Outcome(Status.SKIPPED, f"skipped: {reason}")
            if found.kind is Kind.OTHER and size > MAX_SIZE:
                return _UNCHANGED
            raw = found.path.read_bytes()
        except OSError as error:
            return Outcome(Status.ERROR, f"cannot be read: {error.strerror or error}")
        if found.kind is Kind.OTHER:
            return raw
        if not self._engine.may_concern(raw):
            return _UNCHANGED
        if is_generated(raw):
            return Outcome(
                Status.SKIPPED, "skipped: generated, as it says; change what it is made from"
            )
        return raw


def selected(files: Iterable[Found], *, others: bool = False) -> list[Path]:
    """Return the paths of the files that a run would rewrite where there is cause; ``others``: or read."""
    looked_at = (f for f in files if not f.skip and not f.error)
    return [found.path for found in looked_at if others or found.kind is not Kind.OTHER]
