"""Goes through what there is to try, one setting at a time, and joins those that help; looks at the loss at the end.

What always holds: what is kept was faster in a race of its own, and faster again on top of what was kept before it; the
whole was raced against the program's own way; and its losses, from the program's start, are those of the program's own way
but for what is allowed. What leaves a step made of the same operators, or only adds some, is not raced.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Protocol

from tdev_core.measure.tuning.choices import CHOICES
from tdev_core.measure.tuning.fingerprint import does_more
from tdev_core.measure.tuning.racing import Heat, Race, Sample, races

__all__ = ["Losses", "Outcome", "Progress", "Trial", "search"]

_ALLOWED = 0.02
"""Relative difference of the mean loss that is no harm."""
_LOOKED_AT = {False: 8, True: 30}
"""Steps from the start whose losses are compared, the second half of them; by whether numbers may change by more than
rounding. What should only round and does more shows at once."""


class Steps(Protocol):
    """Takes steps: see :class:`.lanes.Lanes`."""

    def steps(self, wanted: Mapping[str, str], count: int) -> Sequence[Sample]: ...

    def made_of(self, wanted: Mapping[str, str]) -> str: ...

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
    """The outcome of a search.

    Attributes:
        trials: every race, in their order.
        same: what was not raced, with what it is the same as: the value of another setting, or empty for the program's own way.
        more: what was not raced, since a step then does all that it does by itself, and more.
        behind: values that were raced no further, since another value of the same setting helps more: that one.
        settings: what to use; empty where nothing helps.
        together: the settings against the program's own way; None where there are none.
        losses: the comparisons of losses, the last one that of ``settings``.
        dropped: settings that helped and were given up for the loss.
        skipped: what was not tried for want of time.
        seconds: how long it took.
    """

    trials: list[Trial] = field(default_factory=list)
    same: dict[str, str] = field(default_factory=dict)
    more: list[str] = field(default_factory=list)
    behind: dict[str, str] = field(default_factory=dict)
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
    return _Search(lanes, seconds, told, now).run(offers)


class _Search:
    """One search: what it knows so far."""

    def __init__(
        self, lanes: Steps, seconds: float, told: Progress, now: Callable[[], float]
    ) -> None:
        self._lanes, self._told, self._now = lanes, told, now
        self._begun, self._seconds = now(), seconds
        self._found = Outcome()
        self._done = self._total = 0

    def run(self, offers: Mapping[str, Sequence[str]]) -> Outcome:
        found = self._found
        singles = self._different(offers)
        self._total = len(singles)
        heats: dict[tuple[str, str], Heat] = {}
        for group in _groups(singles):
            if self._in_time(0.7):  # the rest is for joining them
                heats |= dict.fromkeys(group, self._alone(group))
            else:
                found.skipped += [_label(*one) for one in group]
            self._done += len(group)

        def faster(one: Trial, other: Trial) -> bool:
            names = _label(one.name, one.value), _label(other.name, other.value)
            heat = heats[one.name, one.value]
            if heat is not heats[other.name, other.value]:
                heat = self._raced([{one.name: one.value}, {other.name: other.value}], names)
            return heat.race(*names).verdict == "helps"

        self._join(_best(list(found.trials), faster))
        _watch(self._lanes, found)
        if found.settings and found.together is None:
            self._say("all of them together", None)
            heat = self._raced([{}, found.settings], ("", "all of them together"))
            found.together = heat.race("", "all of them together")
            if found.together.verdict != "helps":
                found.settings = {}
        if not found.settings:
            found.together = None
        found.seconds = self._now() - self._begun
        return found

    def _in_time(self, share: float = 1.0) -> bool:
        return self._now() - self._begun < self._seconds * share

    def _say(self, what: str, race: Race | None) -> None:
        self._told(what, self._done, self._total, race)

    def _different(self, offers: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
        """Return the values that are worth a race: of those with which a step is made of the same, one; of those with which it only does more, none."""
        singles = [(name, value) for name, values in offers.items() for value in values]
        shown = [one for one in singles if one[0] in CHOICES and CHOICES[one[0]].shows]
        own = self._lanes.made_of({}) if shown else ""
        known = {own: ""}
        for name, value in shown:
            made_of = self._lanes.made_of({name: value})
            if made_of and made_of in known:
                self._found.same[_label(name, value)] = known[made_of]
            elif does_more(made_of, own):
                self._found.more.append(_label(name, value))
            else:
                known[made_of] = _label(name, value)
        needless = {*self._found.same, *self._found.more}
        return [one for one in singles if _label(*one) not in needless]

    def _raced(
        self,
        settings: Sequence[Mapping[str, str]],
        names: Sequence[str],
        pairs: Sequence[tuple[str, str]] = (),
        settled: Callable[[Heat, str], bool] = lambda *_: False,
    ) -> Heat:
        """Race these settings under these names; in pairs, or else the first one with the others."""
        ways = {
            name: partial(self._lanes.steps, one) for name, one in zip(names, settings, strict=True)
        }
        pairs = pairs or [(names[0], other) for other in names[1:]]
        return races(ways, pairs, self._say, self._in_time, settled)

    def _alone(self, several: Sequence[tuple[str, str]]) -> Heat:
        names = [_label(*one) for one in several]
        self._say(", ".join(names), None)
        siblings = {
            mine: [
                theirs
                for theirs, (other, _) in zip(names, several, strict=True)
                if other == name and theirs != mine
            ]
            for mine, (name, _) in zip(names, several, strict=True)
        }

        def settled(heat: Heat, mine: str) -> bool:
            for theirs in siblings[mine]:
                if "helps" == heat.race("", theirs).verdict == heat.race(mine, theirs).verdict:
                    self._found.behind[mine] = theirs
            return mine in self._found.behind

        settings = [{}, *({name: value} for name, value in several)]
        heat = self._raced(settings, ["", *names], settled=settled)
        for (name, value), label in zip(several, names, strict=True):
            self._found.trials.append(Trial(name, value, heat.race("", label)))
        return heat

    def _join(self, helping: Sequence[Trial]) -> None:
        """Put those that help on top of one another, those that help most first, as long as each still helps."""
        found = self._found
        self._total += max(0, len(helping) - 1)
        for one in helping[:1]:
            found.settings[one.name] = one.value
            found.together = one.race  # which was against the program's own way
        for one in helping[1:]:
            before, after = dict(found.settings), {**found.settings, one.name: one.value}
            beside = ", ".join(_label(*other) for other in before.items())
            name = f"{_label(one.name, one.value)} against {beside}"
            self._say(name, None)
            settings, names, pairs = [before, after], [beside, name], [(beside, name)]
            # The last one is raced against the program's own way in the same turns, unless that takes a third process.
            whole = one is helping[-1] and sum(_of_process(each) for each in after) < 2
            if whole:
                settings, names, pairs = [{}, *settings], ["", *names], [*pairs, ("", name)]
            heat = self._raced(settings, names, pairs)
            found.trials.append(Trial(one.name, one.value, heat.race(beside, name), before))
            helps = found.trials[-1].race.verdict == "helps"
            if helps:
                found.settings = after
            found.together = heat.race("", name if helps else beside) if whole else None
            self._done += 1


def _label(name: str, value: str) -> str:
    return f"{name} = {value}"


def _of_process(name: str) -> bool:
    return name not in CHOICES or CHOICES[name].put is None


_TOGETHER = 6
"""Ways that share the blocks of the program's own; more would be too far from them."""


def _groups(singles: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return what is tried at once: settings of a step, all values of each; one of a process keeps a process waiting."""
    of_step = [one for one in singles if not _of_process(one[0])]
    groups: list[list[tuple[str, str]]] = []
    for _, values in groupby(of_step, key=itemgetter(0)):
        several = list(values)
        if groups and len(groups[-1]) + len(several) <= _TOGETHER:
            groups[-1] += several
        else:
            groups.append(several)
    return [*groups, *([one] for one in singles if one not in of_step)]


def _best(trials: Sequence[Trial], faster: Callable[[Trial, Trial], bool]) -> list[Trial]:
    """Return of each setting the value that helps most, those that help most first.

    Of values that are equally fast the first one is taken: it is the plainest, and the same each time. ``faster`` says
    whether the second of two is faster than the first.
    """
    best: dict[str, Trial] = {}
    for one in trials:
        if one.race.verdict != "helps":
            continue
        known = best.get(one.name)
        if known is None or (one.race.ratio < known.race.ratio and faster(known, one)):
            best[one.name] = one
    return sorted(best.values(), key=lambda one: one.race.ratio)


def _watch(lanes: Steps, outcome: Outcome) -> None:
    """Compare losses from the start, and give up settings until they agree: those first that change numbers most."""
    if not outcome.settings:
        return
    # Of a user's own setting nothing is known.
    coarse = any(name not in CHOICES or CHOICES[name].coarse for name in outcome.settings)
    count = _LOOKED_AT[coarse]
    own = lanes.anew({}, count)
    while outcome.settings:
        outcome.losses.append(_compared(own, lanes.anew(outcome.settings, count)))
        if outcome.losses[-1].agree:
            return
        outcome.together = None  # was of more
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
