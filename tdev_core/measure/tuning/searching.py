"""Goes through what there is to try, one setting at a time, and joins those that help; looks at the loss at the end.

What always holds: what is kept was faster in a race of its own, and faster again on top of what was kept before it; the
whole was raced against the program's own way; and its losses, from the program's start, are those of the program's own way
but for what is allowed.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from tdev_core.measure.tuning.choices import CHOICES
from tdev_core.measure.tuning.racing import Race, Sample, race, races

__all__ = ["Losses", "Outcome", "Progress", "Trial", "search"]

_ALLOWED = 0.02
"""Relative difference of the mean loss that is no harm."""
_LOOKED_AT = 30
"""Steps from the start whose losses are compared, the second half of them."""


class Steps(Protocol):
    """Takes steps: see :class:`.lanes.Lanes`."""

    def steps(self, wanted: Mapping[str, str], count: int) -> Sequence[Sample]: ...

    def anew(self, wanted: Mapping[str, str], count: int) -> Sequence[float]: ...


@dataclass(frozen=True)
class Trial:
    """A setting that was tried, on top of others, and how it did against them alone."""

    name: str
    value: str
    race: Race
    beside: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Losses:
    """The mean loss of the program's own way and that with the settings, from the start; ``allowed`` in the same unit."""

    own: float
    tuned: float
    allowed: float

    @property
    def agree(self) -> bool:
        """Whether the settings do no harm; where the program's own way has no loss, nothing is known of it."""
        if math.isnan(self.own) or math.isnan(self.tuned):
            return math.isnan(self.own)
        return abs(self.tuned - self.own) <= self.allowed


@dataclass
class Outcome:
    """What came of a search.

    Attributes:
        trials: every race, in their order.
        settings: what to use; empty where nothing helps.
        together: the settings against the program's own way; None where there are none.
        losses: the comparisons of losses, the last one that of ``settings``.
        dropped: settings that helped and were given up for the loss.
        skipped: what was not tried for want of time.
        seconds: how long it took.
    """

    trials: list[Trial] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    together: Race | None = None
    losses: list[Losses] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    seconds: float = 0.0


class Progress(Protocol):
    """Hears how far a search is."""

    def __call__(self, what: str, done: int, of: int, race: Race | None) -> None: ...


def _unheard(what: str, done: int, of: int, race: Race | None) -> None:
    """Tell nobody."""


def search(
    lanes: Steps,
    offers: Mapping[str, Sequence[str]],
    seconds: float = math.inf,
    told: Progress = _unheard,
    now: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Find the settings among ``offers`` with which steps take least time.

    Args:
        lanes: takes the steps.
        offers: each setting with its values.
        seconds: the time that there is. What does not fit is skipped, and said to be.
        told: hears of each race as it goes on.
        now: the clock of ``seconds``.
    """
    begun = now()
    outcome = Outcome()
    singles = [(name, value) for name, values in offers.items() for value in values]
    done = 0

    def in_time(share: float = 1.0) -> bool:
        return now() - begun < seconds * share

    def tried(several: Sequence[tuple[str, str]], beside: Mapping[str, str]) -> list[Race]:
        against = ", ".join(f"{one} = {other}" for one, other in beside.items())
        against = f" against {against}" if against else ""
        names = [f"{name} = {value}{against}" for name, value in several]
        told(", ".join(names), done, total, None)
        ways = (partial(lanes.steps, {**beside, name: value}) for name, value in several)
        found = races(
            partial(lanes.steps, beside),
            dict(zip(names, ways, strict=True)),
            lambda what, race: told(what, done, total, race),
            in_time,
        )
        for (name, value), one in zip(several, found.values(), strict=True):
            outcome.trials.append(Trial(name, value, one, dict(beside)))
        return list(found.values())

    total = len(singles)
    for group in _groups(singles):
        if in_time(0.7):  # the rest is for joining them
            tried(group, {})
        else:
            outcome.skipped += [f"{name} = {value}" for name, value in group]
        done += len(group)

    def faster(one: Trial, other: Trial) -> bool:
        (found,) = tried([(other.name, other.value)], {one.name: one.value})
        return found.verdict == "helps"

    helping = _best(list(outcome.trials), faster)
    total += len(helping)
    for number, one in enumerate(helping):
        # The first has been raced against the program's own way, which is what is beside it.
        helps = number == 0
        if not helps:
            (found,) = tried([(one.name, one.value)], outcome.settings)
            helps = found.verdict == "helps"
        if helps:
            outcome.settings[one.name] = one.value
        done += 1
    _watch(lanes, outcome)
    if outcome.settings:
        total, done = done + 1, done
        told("all of them together", done, total, None)
        outcome.together = race(
            lambda count: lanes.steps({}, count),
            lambda count: lanes.steps(outcome.settings, count),
            lambda race: told("all of them together", done, total, race),
        )
        if outcome.together.verdict != "helps":
            outcome.settings = {}
    outcome.seconds = now() - begun
    return outcome


_TOGETHER = 4
"""Ways that share the blocks of the program's own; more would be too far from them."""


def _groups(singles: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return what is tried at once: settings of a step; one of a process keeps a process of its own waiting."""
    of_step = [one for one in singles if one[0] in CHOICES and CHOICES[one[0]].put is not None]
    together = [of_step[at : at + _TOGETHER] for at in range(0, len(of_step), _TOGETHER)]
    return [*together, *([one] for one in singles if one not in of_step)]


def _best(trials: Sequence[Trial], raced: Callable[[Trial, Trial], bool]) -> list[Trial]:
    """Return of each setting the value that helps most, those that help most first.

    Of values that are equally fast the first one is taken: it is the plainest, and the same each time. Where intervals
    overlap, ``raced`` says whether the second of two is faster than the first.
    """
    best: dict[str, Trial] = {}
    for one in trials:
        if one.race.verdict != "helps":
            continue
        known = best.get(one.name)
        if known is None or one.race.interval[1] < known.race.interval[0]:
            best[one.name] = one
        elif one.race.ratio < known.race.ratio and raced(known, one):
            best[one.name] = one
    return sorted(best.values(), key=lambda one: one.race.ratio)


def _watch(lanes: Steps, outcome: Outcome) -> None:
    """Compare losses from the start, and give up settings until they agree: those first that change numbers most."""
    if not outcome.settings:
        return
    own = lanes.anew({}, _LOOKED_AT)
    while outcome.settings:
        outcome.losses.append(_compared(own, lanes.anew(outcome.settings, _LOOKED_AT)))
        if outcome.losses[-1].agree:
            return
        worst = max(
            outcome.settings, key=lambda name: CHOICES[name].coarse if name in CHOICES else 0
        )
        outcome.dropped.append(f"{worst} = {outcome.settings.pop(worst)}")


def _compared(own: Sequence[float], tuned: Sequence[float]) -> Losses:
    count = min(len(own), len(tuned))
    if not count:
        return Losses(math.nan, math.nan, 0.0)
    mine, theirs = list(own[count // 2 : count]), list(tuned[count // 2 : count])
    if math.inf in tuned:
        theirs = [math.inf]
    mean = statistics.fmean(mine)
    # Losses of single batches scatter, and so does the mean of a few.
    scatter = statistics.stdev(mine) / math.sqrt(len(mine)) if len(mine) > 1 else 0.0
    allowed = max(_ALLOWED * abs(mean), scatter)
    return Losses(mean, statistics.fmean(theirs), allowed)
