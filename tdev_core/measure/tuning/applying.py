"""Puts winners to use: the same settings, by the same means, as they were tried with."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tdev_core.errors import ConfigError
from tdev_core.measure.tuning import choices, lanes
from tdev_core.measure.tuning.searching import Outcome
from tdev_core.measure.tuning.searching import search as _search
from tdev_core.measure.tuning.stepping import LEARNING
from tdev_core.measure.tuning.subject import Subject
from tdev_core.measure.tuning.variables import variables
from tdev_core.measure.tuning.winners import FILE, here, kept, store

__all__ = ["apply", "apply_setting", "program", "search"]


class _Applied:
    """A program with winners: those of a step are put on once it is known what it is made of."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._wanted = {n: v for n, v in settings.items() if choices.CHOICES[n].put is not None}
        self._subject = Subject(self._ended)
        self._subject.loading = choices.loading(settings)
        self._subject.watches = False
        self._steps = 0

    def start(self) -> None:
        self._subject.enter()
        of_process = {n: v for n, v in self._wanted.items() if n in _OF_PROCESS}
        choices.put(self._subject, of_process)  # they wait for nothing

    def _ended(self) -> None:
        self._steps += 1
        if self._steps == LEARNING:
            self._subject.learn(False)
            choices.put(self._subject, self._wanted)

    def stop(self) -> None:
        self._subject.leave()


_OF_PROCESS = frozenset(
    {"threads", "matmul_precision", "attention", "native_kernels", "non_blocking"}
)
"""Settings that need nothing of the program's."""
_applied: _Applied | None = None


def apply(file: str | os.PathLike[str] = FILE, program_name: str | None = None) -> dict[str, str]:
    """Use the winners that a file has for this program on this device, from the third step on.

    What a model or an optimizer is made of is seen in the first two steps.

    Args:
        file: written by ``python -m tdev tune`` or :func:`search`.
        program_name: whose winners; default: the script that this process runs.

    Returns:
        The settings.

    Raises:
        ConfigError: the file has none for this device, system, torch and program; or a setting has to be there
            before torch is imported, which ``TDEV_TUNE`` in the environment does.
    """
    global _applied
    settings = kept(Path(file), here(program_name or program()))
    late = {name: value for name, value in variables(settings).items() if name not in os.environ}
    if late:
        words = " ".join(f"{name}={value}" for name, value in late.items())
        raise ConfigError(
            f"torch reads {words} when it is imported. Start the program with TDEV_TUNE={file}"
        )
    if _applied is not None:
        _applied.stop()
    _applied = _Applied(settings)
    _applied.start()
    return settings


def apply_setting() -> None:
    """Use the file that ``TDEV_TUNE`` names; where it is not set, nothing.

    Raises:
        ConfigError: it has no winners for this program on this device.
    """
    path = os.environ.get("TDEV_TUNE", "")
    if path:
        apply(path)


def program() -> str:
    """Return the name of the program that this process runs: its script's, or its module's."""
    words = list(sys.orig_argv[1:])
    if "run" in words and {"tdev", "tdev_core.run"} & set(words[: words.index("run")]):
        return name_of(words[words.index("run") + 1 :])
    return name_of([sys.argv[0]]) if sys.argv and sys.argv[0] else "python"


def name_of(words: Sequence[str]) -> str:
    """Return the name of the program that the words after ``tdev run`` start."""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-m" and rest:
            return f"-m {rest[0]}"
        if word in ("--library", "--libraries", "--root") and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            return Path(word).name
    return "python"


def search(
    make: Callable[..., Callable[[], Any]],
    *,
    name: str | None = None,
    file: str | os.PathLike[str] | None = FILE,
    seconds: float = 300.0,
    clock: str = "wall",
    only: Sequence[str] = (),
    own: Mapping[str, Sequence[str]] | None = None,
) -> Outcome:
    """Find the settings with which a training step takes least time, and keep them.

    Args:
        make: makes model, optimizer and data anew, and returns the function that takes one step; the number that this
            returns, if any, is the loss. With ``own`` it is called with those names.
        name: what :func:`apply` is to know the winners by; default: the script's name.
        file: where to keep what was found; None: nowhere.
        seconds: how long it may take.
        clock: ``wall``, or ``processor`` for the time of this process on processors, which others do not disturb.
        only: the settings to try; default: every one that device and program have.
        own: further settings with their values, the usual one first: ``{"accumulate": ["1", "4"]}``.

    Raises:
        ConfigError: there is no such setting or clock, or the file cannot be written.
        tdev_core.measure.tuning.racing.Failed: the steps fail as they are.
    """
    from tdev_core.measure.tuning.stepping import CLOCKS

    known = {**choices.CHOICES, **(own or {})}
    wrong = [one for one in only if one not in known]
    if wrong or clock not in CLOCKS:
        what = f"setting is called {', '.join(wrong)}" if wrong else f"clock is called {clock}"
        raise ConfigError(f"no {what}; there are {', '.join(known if wrong else CLOCKS)}")
    ways = lanes.function(make, clock, own or {})
    try:
        found = _search(ways, to_try(ways.offers(), only, clock, own or {}), seconds)
    finally:
        ways.close()
    if file is not None:
        keep(Path(file), name or program(), found, own or {})
    return found


def to_try(
    offers: Mapping[str, Sequence[str]],
    only: Sequence[str],
    clock: str,
    own: Mapping[str, Sequence[str]],
    leave: Sequence[str] = (),
) -> dict[str, tuple[str, ...]]:
    """Return what of the offers is to be tried; of a user's setting all values but the usual one.

    The processor's time tells nothing of more threads, or of processes that load.
    """
    skipped = {
        *leave,
        *(("threads", "workers", "pin_memory", "non_blocking") if clock == "processor" else ()),
    }
    return {
        name: tuple(values[1:] if name in own else values)
        for name, values in offers.items()
        if (not only or name in only or name in own) and (name not in skipped or name in only)
    }


def keep(
    path: Path,
    program_name: str,
    found: Outcome,
    own: Mapping[str, Sequence[str]],
    backend: Any = None,
) -> None:
    """Keep what a search has found, also where nothing helps: then that is known.

    Raises:
        ConfigError: the file holds something else, or cannot be written.
    """
    mine = {name: value for name, value in found.settings.items() if name in own}
    settings = {name: value for name, value in found.settings.items() if name not in own}
    measured = {}
    if found.together is not None and found.settings:
        before, after = found.together.seconds
        measured = {"step_before": before, "step_after": after, "ratio": found.together.ratio}
    store(path, here(program_name, backend), settings, measured, mine)
