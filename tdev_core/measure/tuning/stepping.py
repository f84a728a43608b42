"""Takes a program's steps as another process asks for them: in the program, the side that answers.

Messages are lines of JSON on two pipes. The program tells what it can be tried with, once it has taken
:data:`LEARNING` steps, and then what each step took; after each it is told how to take the next one. What it does
between two steps (wait, change settings) is in no step's time.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NoReturn

import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.measure.tuning import choices
from tdev_core.measure.tuning.fingerprint import Bits, Fingerprint
from tdev_core.measure.tuning.racing import Sample
from tdev_core.measure.tuning.subject import Subject

__all__ = ["CLOCKS", "LEARNING", "VARIABLE", "Task", "begin", "seeded", "synchronize"]

VARIABLE = "TDEV_TUNING"
"""The variable of the environment that has a program's steps be asked for."""
LEARNING = 2
"""Steps from which a program is known."""
CLOCKS: dict[str, Callable[[], float]] = {
    "wall": time.perf_counter,
    "processor": time.process_time,
}


@dataclass(frozen=True)
class Task:
    """The task that a program is given when it starts.

    Attributes:
        asks: the file descriptor that it reads.
        answers: the one that it writes.
        clock: of :data:`CLOCKS`.
        fixed: settings of the process.
    """

    asks: int
    answers: int
    clock: str = "wall"
    fixed: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return it for :data:`VARIABLE`."""
        return json.dumps(asdict(self))


class _Program:
    """This process, as the one that asks knows it."""

    def __init__(self, task: Task) -> None:
        self._asks = os.fdopen(task.asks, encoding="utf-8")
        self._answers = os.fdopen(task.answers, "w", encoding="utf-8")
        self._now = CLOCKS[task.clock]
        self._subject = Subject(self._ended)
        self._subject.loading = choices.loading(task.fixed)
        self._steps = 0
        self._begun = 0.0
        self._pid = os.getpid()
        self._looking: Fingerprint | None = None
        self._bits: Bits = {}

    def start(self) -> None:
        seeded()
        self._subject.enter()
        self._begun = self._now()

    def _ended(self) -> None:
        """A step has ended: tell, and have the next one be as asked."""
        if os.getpid() != self._pid:
            return  # a fork's
        synchronize()
        seconds = self._now() - self._begun
        seen, self._looking = self._looking, None
        if seen is not None:
            seen.__exit__(None, None, None)
        loss = self._subject.loss()
        self._steps += 1
        if self._steps == LEARNING:
            self._subject.learn(False)
            about = {"offers": choices.offered(self._subject), "device": self._subject.device}
            self._tell(about)
        elif self._steps > LEARNING:
            made_of = "" if seen is None else seen.text()
            known = None if math.isnan(loss) else loss
            self._tell({"seconds": seconds, "loss": known, "made_of": made_of})
        if self._steps >= LEARNING:
            asked = self._asked()
            choices.put(self._subject, asked["put"])
            synchronize()
            if asked["look"]:
                self._looking = Fingerprint(self._bits)
                self._looking.__enter__()
        self._begun = self._now()

    def _tell(self, what: Any) -> None:
        try:
            print(json.dumps(what), file=self._answers, flush=True)
        except OSError:
            _end()

    def _asked(self) -> dict[str, Any]:
        try:
            line = self._asks.readline()
        except OSError:
            line = ""
        if not line.endswith("\n"):  # who asks has gone, or knows enough
            _end()
        found: dict[str, Any] = json.loads(line)
        return found


def _end() -> NoReturn:
    """End the process here: what a program does at its end (a checkpoint, an evaluation) is not asked for."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def seeded() -> None:
    """Begin with the seeds that every run begins with."""
    random.seed(0)
    torch.manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)


def synchronize() -> None:
    """Return when all work on the device is done."""
    match current():
        case Backend.CPU:
            pass
        case Backend.CUDA | Backend.MPS:
            torch.accelerator.synchronize()
        case Backend.SIM | Backend.MLX:
            accelerator().synchronize(0)


def begin() -> None:
    """Answer the process that has started this one, if there is one; what this one starts does not."""
    text = os.environ.pop(VARIABLE, "")
    if text:
        _Program(Task(**json.loads(text))).start()


def one_step(
    subject: Subject, step: Callable[[], Any], wanted: Mapping[str, str], clock: str
) -> Sample:
    """Take a step of a program that is a function: what it returns, if it is a number, is its loss."""
    choices.put(subject, wanted)
    synchronize()
    begun = CLOCKS[clock]()
    found = step()
    synchronize()
    seconds = CLOCKS[clock]() - begun
    loss = subject.loss()
    if isinstance(found, torch.Tensor) and found.numel() == 1:
        found = found.item()
    if isinstance(found, float):
        loss = found if math.isfinite(found) else math.inf
    return Sample(seconds, loss)
