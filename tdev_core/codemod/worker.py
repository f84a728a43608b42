"""The worker process: jobs in on standard input, outcomes out on standard output.

Started by :mod:`tdev_core.codemod.pool` and by nothing else. It ends when its input does, so that no
worker outlives a run, however that ended.
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from typing import BinaryIO

from tdev_core.codemod.engine.api import Names
from tdev_core.codemod.process import load_engine, process


def main(engine_name: str) -> None:
    """Answer jobs until there are no more."""
    source = sys.stdin.buffer
    sink = _claim_stdout()
    warnings.simplefilter(
        "ignore"
    )  # what parsing says about the user's strings is not for this run
    engine, names = load_engine(engine_name), Names.load()
    while True:
        try:
            job = pickle.load(source)
        except EOFError:
            return
        pickle.dump(process(job, engine, names), sink)
        sink.flush()


def _claim_stdout() -> BinaryIO:
    """The pipe to the parent; whatever prints from now on prints to standard error."""
    sink = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sink
