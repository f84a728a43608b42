"""Answers jobs as a worker process: jobs in on standard input, outcomes out on standard output.

Started by :mod:`tdev_core.codemod.jobs.pool` and by nothing else. It ends when its input does, so that no
worker outlives a run, however that ended.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import BinaryIO

from tdev_core.codemod.engine import Names, ProgramTree
from tdev_core.codemod.jobs.process import Job, load_engine, process


def main(engine_name: str, *pipes: int) -> None:
    """Answer jobs until there are no more.

    ``pipes`` are the ends of further workers' pipes, of jobs and of answers in turn: this process makes
    those of itself, once it has read what all of them need.
    """
    source: BinaryIO = sys.stdin.buffer
    sink = _claim_stdout()
    warnings.simplefilter(
        "ignore"
    )  # what parsing says about the user's strings is not for this run
    engine, names, plain = load_engine(engine_name), Names.load(), False
    # A tree is all of a file's memory and is dropped at once; the collector is only asked then.
    gc.disable()
    if pipes:
        import_module("tdev_core.codemod.engine.registry")
        plain = _make_plain()
        source, sink = _fork(source, sink, pipes)
    tree: ProgramTree | None = None
    while True:
        try:
            job = pickle.load(source)  # nosec B301  # a pipe that only the parent writes to
        except (EOFError, pickle.UnpicklingError):
            break  # the run is over, or was ended in the middle of a job
        if not isinstance(job, Job):
            tree = job  # that of the files of all jobs after it
            continue
        plain = plain or _make_plain()
        if tree is not None:
            job = replace(job, options=replace(job.options, tree=tree))
        try:
            pickle.dump(process(job, engine, names), sink)
            sink.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody waits for the answer; closing the pipe would fail once more
        if gc.get_count()[0] > _GARBAGE:
            gc.collect()
            gc.freeze()  # what is left now is libraries
    if pipes:
        _wait()
    os._exit(0)  # to take everything down in order takes longer than a small file


def _make_plain() -> bool:
    """Make libcst's nodes cheaper once it has been imported, which no run needs where nothing says CUDA; tell whether it was."""
    if "libcst" not in sys.modules:
        return False
    import_module("tdev_core.codemod.engine.analysis.plain").make_plain()
    return True


def _fork(source: BinaryIO, sink: BinaryIO, pipes: Sequence[int]) -> tuple[BinaryIO, BinaryIO]:
    """Make a worker for each two of these pipes; return those of the process in which it returns.

    Each closes those of the others: a pipe's reader finds its end once nobody else could write to it.
    """
    gc.freeze()
    signal.signal(signal.SIGCHLD, _reap)
    mine = -1, -1
    for each in zip(pipes[::2], pipes[1::2], strict=True):
        if os.fork() == 0:
            mine = each
            break
    for end in pipes:
        if end not in mine:
            os.close(end)
    if mine == (-1, -1):
        return source, sink
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    sink.close()
    return os.fdopen(mine[0], "rb"), os.fdopen(mine[1], "wb")


def _reap(*_: object) -> None:
    """Take note of the workers made here that have ended: their time counts as this process's from then on."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _wait() -> None:
    """Wait for the workers made here, which end as this one does."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with suppress(ChildProcessError):
        while os.wait():
            pass


_GARBAGE = 20_000
"""Objects made for one file, beyond which they are looked through for cycles."""


def _claim_stdout() -> BinaryIO:
    """Return the pipe to the parent; whatever prints from now on prints to standard error."""
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sink
