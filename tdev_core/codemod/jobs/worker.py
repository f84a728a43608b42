"""Answers jobs as a worker process: jobs in on standard input, outcomes out on standard output.

Started by :mod:`tdev_core.codemod.jobs.pool` and by nothing else. It ends when its input does, so that no
worker outlives a run, however that ended.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys
import warnings
from dataclasses import replace
from typing import BinaryIO

from tdev_core.codemod.engine import Names, ProgramTree
from tdev_core.codemod.jobs.process import Job, load_engine, process


def main(engine_name: str) -> None:
    """Answer jobs until there are no more."""
    source = sys.stdin.buffer
    sink = _claim_stdout()
    warnings.simplefilter(
        "ignore"
    )  # what parsing says about the user's strings is not for this run
    engine, names = load_engine(engine_name), Names.load()
    # A tree is all of a file's memory and is dropped at once; the collector is only asked then.
    gc.disable()
    tree: ProgramTree | None = None
    while True:
        try:
            job = pickle.load(source)  # nosec B301  # a pipe that only the parent writes to
        except (EOFError, pickle.UnpicklingError):
            return  # the run is over, or was ended in the middle of a job
        if not isinstance(job, Job):
            tree = job  # that of the files of all jobs after it
            continue
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


_GARBAGE = 20_000
"""Objects made for one file, beyond which they are looked through for cycles."""


def _claim_stdout() -> BinaryIO:
    """Return the pipe to the parent; whatever prints from now on prints to standard error."""
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sink
