"""Has a program take steps one way or another: as a command, in processes of their own, or as a function, in this one.

A command's settings of the process need two processes, which take turns: one waits while the other steps. A program that
ends is started again.
"""

from __future__ import annotations

import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tdev_core.measure.endings import reason
from tdev_core.measure.tuning import choices
from tdev_core.measure.tuning.fingerprint import Bits, Fingerprint
from tdev_core.measure.tuning.racing import Failed, Sample
from tdev_core.measure.tuning.stepping import (
    LEARNING,
    VARIABLE,
    Task,
    one_step,
    seeded,
)
from tdev_core.measure.tuning.subject import Subject
from tdev_core.measure.tuning.variables import SETTING, variables

__all__ = ["Lanes", "command", "function"]

Wanted = Mapping[str, str]
_PATIENCE = 600.0
"""Seconds after which a step that does not end is given up; compilers take minutes."""
_AT_ONCE = 2
"""Programs that are kept waiting at once: memory."""


class Ended(Exception):
    """The program has ended by itself; ``said`` is what it printed."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(status, said)
        self.status, self.said = status, said


class Session(ABC):
    """A program that has begun and waits for its next step.

    Attributes:
        offers: settings of a step, and of the process, that there are to try, each with its values.
        device: the device type that it computes on.
    """

    offers: dict[str, tuple[str, ...]]
    device: str

    @abstractmethod
    def step(self, wanted: Wanted) -> Sample:
        """Take a step with these settings; raises :class:`Ended`, or :class:`Failed`."""

    @abstractmethod
    def made_of(self, wanted: Wanted) -> str:
        """Take a step with these settings, and return its fingerprint; raises what :meth:`step` does."""

    @abstractmethod
    def close(self) -> None:
        """End it, wherever it is."""

    def rest(self) -> None:  # noqa: B027 - a process of its own disturbs no other
        """Take off what others in this process would notice, until the next step."""


class Lanes:
    """Takes steps of a program with any settings; starts it as often as it must, and keeps few of it."""

    def __init__(
        self, start: Callable[[Wanted], Session], own: Mapping[str, Sequence[str]]
    ) -> None:
        """Start nothing yet; ``own`` are settings of the process that the user has named."""
        self._start = start
        self._own = dict(own)
        self._waiting: dict[tuple[tuple[str, str], ...], Session] = {}
        self.starts = 0

    def offers(self) -> dict[str, tuple[str, ...]]:
        """Return what there is to try, the user's own settings last."""
        found = self._session({}).offers
        return {**found, **{name: tuple(values) for name, values in self._own.items()}}

    @property
    def device(self) -> str:
        """The device type that the program computes on."""
        return self._session({}).device

    def steps(self, wanted: Wanted, count: int) -> list[Sample]:
        """Take so many steps with these settings.

        Raises:
            Failed: the program fails, or ends before it has taken any.
        """
        fixed, live = self._apart(wanted)
        found: list[Sample] = []
        fresh = False
        while len(found) < count:
            session = self._session(fixed)
            try:
                found.append(session.step(live))
                fresh = False
            except Ended as ended:
                self.close(fixed)
                if ended.status:
                    raise Failed(_last(ended)) from None
                if fresh:
                    raise Failed(_TOO_SHORT) from None
                fresh = True
            except Failed:
                self.close(fixed)
                raise
        return found

    def made_of(self, wanted: Wanted) -> str:
        """Take a step with these settings, and return its fingerprint; empty where it cannot be taken so."""
        fixed, live = self._apart(wanted)
        try:
            return self._session(fixed).made_of(live)
        except (Ended, Failed):
            self.close(fixed)
            return ""

    def anew(self, wanted: Wanted, count: int) -> list[float]:
        """Return the losses of the first steps of the program, started anew, with these settings.

        They are fewer than ``count`` where it ends before; the last is infinite where it fails.
        """
        fixed, live = self._apart(wanted)
        self.close()
        losses: list[float] = []
        try:
            session = self._start(fixed)
            self.starts += 1
            try:
                while len(losses) < count:
                    losses.append(session.step(live).loss)
            finally:
                session.close()
        except Ended as ended:
            if ended.status:
                losses.append(math.inf)
        except Failed:
            losses.append(math.inf)
        return losses

    def close(self, fixed: Wanted | None = None) -> None:
        """End the programs that wait, or the one with these settings of the process."""
        for key in list(self._waiting) if fixed is None else [_key(fixed)]:
            if key in self._waiting:
                self._waiting.pop(key).close()

    def _apart(self, wanted: Wanted) -> tuple[dict[str, str], dict[str, str]]:
        """Return the settings of the process and those of a step."""
        of_process = {
            name for name in wanted if name in self._own or choices.CHOICES[name].put is None
        }
        return (
            {name: value for name, value in wanted.items() if name in of_process},
            {name: value for name, value in wanted.items() if name not in of_process},
        )

    def _session(self, fixed: Wanted) -> Session:
        key = _key(fixed)
        if self._waiting and next(reversed(self._waiting)) != key:
            self._waiting[next(reversed(self._waiting))].rest()
        if key not in self._waiting:
            while len(self._waiting) >= _AT_ONCE:  # the one that was asked for longest ago
                self._waiting.pop(next(iter(self._waiting))).close()
            try:
                self._waiting[key] = self._start(fixed)
            except Ended as ended:
                raise Failed(_last(ended) if ended.status else _TOO_SHORT) from None
            self.starts += 1
        self._waiting[key] = self._waiting.pop(key)
        return self._waiting[key]


def _key(fixed: Wanted) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(fixed.items()))


def _last(ended: Ended) -> str:
    return reason(ended.said) or f"the program ended with status {ended.status}"


_TOO_SHORT = f"the program ends before its optimizer has stepped {LEARNING} times: there is nothing to compare"


# -- a command ---------------------------------------------------------------------------------------


def command(
    words: Sequence[str], backend: str | None, clock: str, own: Mapping[str, Sequence[str]]
) -> Lanes:
    """Return lanes for a program that ``python -m tdev run`` runs.

    Args:
        words: what follows ``tdev run``; ``{name}`` in them is the value of the user's setting ``name``.
        backend: that which it runs on, None for that which is chosen by itself.
        clock: of :data:`.stepping.CLOCKS`.
        own: the user's settings with their values, the first of which is the usual one.
    """
    return Lanes(lambda fixed: _Process(words, backend, clock, own, fixed), own)


class _Process(Session):
    def __init__(
        self,
        words: Sequence[str],
        backend: str | None,
        clock: str,
        own: Mapping[str, Sequence[str]],
        fixed: Wanted,
    ) -> None:
        usual = {name: values[0] for name, values in own.items()}
        named = {name: fixed.get(name, value) for name, value in usual.items()}
        program = [_filled(word, named) for word in words]
        theirs, mine = os.pipe(), os.pipe()  # what it reads, what it writes
        task = Task(theirs[0], mine[1], clock, {n: v for n, v in fixed.items() if n not in own})
        env = {**os.environ, **variables(fixed), VARIABLE: task.text()}
        env.pop(SETTING, None)  # what was found before is not the program's own way
        if backend is not None:
            env["TDEV_BACKEND"] = backend
        self._said = tempfile.TemporaryFile()
        try:
            self._program = subprocess.Popen(
                [sys.executable, "-m", "tdev", "run", *program],
                env=env, stdin=subprocess.DEVNULL, stdout=self._said, stderr=subprocess.STDOUT,
                pass_fds=(theirs[0], mine[1]), start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(theirs[0])
            os.close(mine[1])
        self._asks = os.fdopen(theirs[1], "w", encoding="utf-8")
        self._answers = os.fdopen(mine[0], "rb", buffering=0)
        self._rest = b""
        try:
            about = self._heard()
        except BaseException:
            self.close()
            raise
        self.device = about["device"]
        self.offers = {name: tuple(values) for name, values in about["offers"].items()}

    def step(self, wanted: Wanted) -> Sample:
        found = self._stepped(wanted, False)
        return Sample(found["seconds"], math.nan if found["loss"] is None else found["loss"])

    def made_of(self, wanted: Wanted) -> str:
        found: str = self._stepped(wanted, True)["made_of"]
        return found

    def _stepped(self, wanted: Wanted, look: bool) -> Any:
        try:
            print(json.dumps({"put": dict(wanted), "look": look}), file=self._asks, flush=True)
        except OSError:
            raise self._ended() from None
        return self._heard()

    def close(self) -> None:
        for file in (self._asks, self._answers):
            try:
                file.close()
            except OSError:
                pass  # the program is gone
        if self._program.poll() is None:
            for number in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(self._program.pid, number)
                    self._program.wait(5)
                    break
                except (subprocess.TimeoutExpired, ProcessLookupError):
                    continue
        self._program.wait()
        self._said.close()

    def _heard(self) -> Any:
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], _PATIENCE)
            if not ready:
                raise Failed(f"a step has not ended in {_PATIENCE:.0f} s")
            part = self._answers.read(1 << 16)
            if not part:
                raise self._ended()
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def _ended(self) -> Ended:
        status = self._program.wait()
        self._said.seek(0)
        return Ended(status, self._said.read().decode(errors="replace"))


def _filled(word: str, named: Wanted) -> str:
    for name, value in named.items():
        word = word.replace(f"{{{name}}}", value)
    return word


# -- a function --------------------------------------------------------------------------------------


def function(
    make: Callable[..., Callable[[], Any]], clock: str, own: Mapping[str, Sequence[str]]
) -> Lanes:
    """Return lanes for steps that a function takes, in this process.

    Args:
        make: makes the program anew, models and optimizers and all, and returns the function that takes a step. It is
            called with the user's settings as keyword arguments.
        clock: of :data:`.stepping.CLOCKS`.
        own: the user's settings with their values, the first of which is the usual one.
    """
    return Lanes(lambda fixed: _Function(make, clock, own, fixed), own)


class _Function(Session):
    def __init__(
        self,
        make: Callable[..., Callable[[], Any]],
        clock: str,
        own: Mapping[str, Sequence[str]],
        fixed: Wanted,
    ) -> None:
        self._clock = clock
        self._bits: Bits = {}
        self._subject = Subject()
        self._subject.loading = choices.loading(fixed)
        seeded()
        self._subject.enter()
        try:
            usual = {name: values[0] for name, values in own.items()}
            self._step = make(**{name: fixed.get(name, value) for name, value in usual.items()})
            for _ in range(LEARNING):
                one_step(self._subject, self._step, {}, clock)
        except BaseException:
            self._subject.leave()
            raise
        self._subject.learn(False)
        self.offers, self.device = choices.offered(self._subject), self._subject.device

    def step(self, wanted: Wanted) -> Sample:
        self._subject.hears = True
        try:
            return one_step(self._subject, self._step, wanted, self._clock)
        except Exception as error:  # whatever a setting makes of the program's step
            raise Failed(f"{type(error).__name__}: {error}") from error

    def made_of(self, wanted: Wanted) -> str:
        choices.put(self._subject, wanted)
        seen = Fingerprint(self._bits)
        with seen:
            self.step(wanted)
        return seen.text()

    def rest(self) -> None:
        choices.put(self._subject, {})
        self._subject.hears = False

    def close(self) -> None:
        self._subject.leave()
        if self._subject.compiled:
            # The next program has the same functions, of which torch compiles eight versions and no more (recompile_limit).
            torch.compiler.reset()
