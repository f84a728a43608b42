"""Where torch has no accelerator, what ``--target accelerator`` writes does what stood there did.

Each pair of names is called: a generic name that raises where ``torch.cuda``'s answers is
written only behind a test (on a CPU build). A process of its own: other tests may have registered a device.
"""

from __future__ import annotations

import json
import warnings

import torch

from tdev_core.codemod.engine import Names
from tdev_core.codemod.engine.rules.accelerator.guards import QUIET
from tests.forkserver import python

_PROGRAM = """
import json, sys
from tests.codemod.engine.test_without_accelerator import answers
print(json.dumps(answers()))
"""


def answers() -> dict[str, list[bool]]:
    """Tell for each name whether ``torch.cuda``'s, and the generic one, can be called without arguments."""

    def answered(name: str) -> bool:
        found: object = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found()  # type: ignore[operator]
        except Exception:
            return False
        return True

    pairs = Names.load().accelerator.items()
    return {name: [answered(name), answered(generic.name)] for name, generic in pairs}


def test_names_that_raise_are_the_quiet_ones() -> None:
    done = python("-c", _PROGRAM)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) > 20
    # A build with CUDA that finds no GPU has an accelerator by name, which answers what a CPU build refuses.
    quiet = QUIET if torch.version.cuda is None else frozenset[str]()
    assert {name for name, (before, after) in told.items() if before and not after} == quiet
