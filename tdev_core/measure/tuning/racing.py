"""Compares ways to take a step with one of them, by turns, until it is told which is faster or that neither is.

What always holds: a verdict is of ratios of neighbouring blocks of steps, so that a machine that grows slow slows both
sides; it is of their median and of an interval that holds it in 98 of 100 cases whatever the distribution (order
statistics: Conover, Practical Nonparametric Statistics, 3.2); and what the interval leaves open is no difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["GAIN", "Failed", "Race", "Sample", "Way", "race", "races"]

GAIN = 0.02
"""Shares of a step below this are no difference."""
_CLEAR = 0.10
"""Where every ratio is this far off, fewer of them are enough."""
_CONFIDENCE = 0.98
_FEWEST, _CLEARLY, _MOST = 7, 5, 21
_HOPELESS = 9
"""Blocks after which what has not helped is given up: what saves 5 % comes so far in one of thirty races, at 5 % of noise."""
_LAST = 41
"""Blocks after which also what seems to help is given up, where it cannot be told from chance."""
_BLOCK = 0.03
"""Seconds that a block takes at least, in up to :data:`_LONGEST` steps: clocks and interrupts are coarse."""
_LONGEST = 8


class Failed(Exception):
    """Steps cannot be taken this way; the message says why."""


@dataclass(frozen=True)
class Sample:
    """One step: seconds, and the loss that its backward pass began with (NaN: none was seen)."""

    seconds: float
    loss: float = math.nan


@dataclass
class Race:
    """One way to take a step against another.

    Attributes:
        ratios: seconds of the other way in units of the first, block by block.
        failure: why the other way cannot be taken; else empty.
        seconds: median seconds of a step, of the first way and of the other.
    """

    ratios: list[float] = field(default_factory=list)
    failure: str = ""
    seconds: tuple[float, float] = (math.nan, math.nan)
    _blocks: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def add(self, mine: float, theirs: float) -> None:
        """Count a block of each way: median seconds of a step."""
        self._blocks[0].append(mine)
        self._blocks[1].append(theirs)
        self.ratios.append(theirs / mine)
        self.seconds = statistics.median(self._blocks[0]), statistics.median(self._blocks[1])

    @property
    def ratio(self) -> float:
        """The median ratio; NaN where nothing was measured."""
        return statistics.median(self.ratios) if self.ratios else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The ratios between which the true median lies, with :data:`_CONFIDENCE`."""
        ordered = sorted(self.ratios)
        if not ordered:
            return math.nan, math.nan
        skipped = _skipped(len(ordered))
        return ordered[skipped], ordered[-1 - skipped]

    @property
    def verdict(self) -> str:
        """``helps``, ``hurts``, ``equal`` or ``fails``."""
        low, high = self.interval
        if self.failure:
            return "fails"
        if self.ratio <= 1 - GAIN and high < 1:
            return "helps"
        return "hurts" if self.ratio >= 1 + GAIN and low > 1 else "equal"

    @property
    def decided(self) -> bool:
        """Whether further blocks would tell nothing that matters."""
        count = len(self.ratios)
        low, high = self.interval
        promising = self.ratio <= 1 - GAIN and high >= 1
        if self.failure or count >= (_LAST if promising else _MOST):
            return True
        if count < _CLEARLY:
            return False
        if max(self.ratios) < 1 - _CLEAR or min(self.ratios) > 1 + _CLEAR:
            return True
        harmless = (
            self.ratio < 1 + 2 * GAIN or low > 1
        )  # else it is worth a few more to say that it hurts
        if count >= _HOPELESS and self.ratio >= 1 - GAIN / 2 and harmless:
            return True
        return count >= _FEWEST and (high < 1 - GAIN or (low > 1 - GAIN and harmless))


Way = Callable[[int], Sequence[Sample]]
"""Takes so many steps, and returns what each took; raises :class:`Failed` where it cannot."""


def _skipped(count: int) -> int:
    """Return how many of ``count`` sorted values may be left out at each end of the interval."""
    tail = 0.0
    for skipped in range(count // 2):
        tail += math.comb(count, skipped) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            return max(0, skipped - 1)
    return 0


def race(
    first: Way,
    other: Way,
    told: Callable[[Race], None] = lambda _: None,
    in_time: Callable[[], bool] = lambda: True,
) -> Race:
    """Take steps both ways by turns until the race is decided; see :func:`races`."""
    return races(first, {"": other}, lambda _, found: told(found), in_time)[""]


def races(
    first: Way,
    others: Mapping[str, Way],
    told: Callable[[str, Race], None] = lambda *_: None,
    in_time: Callable[[], bool] = lambda: True,
) -> dict[str, Race]:
    """Take steps one way and several others by turns, until each of them is decided against the first.

    Args:
        first: takes so many steps the first way, and returns what each took.
        others: the same, the other ways, by their names; raises :class:`Failed` where that cannot be done, which is the race's
            failure. They are few: what is compared has to be measured within a short time.
        told: hears of each race after each of its blocks.
        in_time: tells whether there is time left.
    """
    found = {name: Race() for name in others}
    first(2)
    for name, other in others.items():
        try:
            other(3)  # what is compiled, converted or allocated once belongs to no block
        except Failed as error:
            found[name].failure = str(error)
    usual = statistics.median(one.seconds for one in first(3))
    count = min(_LONGEST, max(1, math.ceil(_BLOCK / max(usual, 1e-9))))
    turn = 0
    while (left := [name for name in others if not found[name].decided]) and in_time():
        # Now forwards and now backwards: what one leaves in the caches is the next one's.
        order: list[str | None] = [None, *left]
        blocks: dict[str | None, float] = {}
        for who in order if turn % 2 == 0 else order[::-1]:
            try:
                samples = (first if who is None else others[who])(count + 1)[1:]
            except Failed as error:
                if who is None:
                    raise
                found[who].failure = str(error)
                continue
            # The step after a change is the change's, and left out.
            blocks[who] = statistics.median(one.seconds for one in samples)
            if who is not None and any(math.isinf(one.loss) for one in samples):
                found[who].failure = "the loss is infinite or not a number"
        for name in left:
            if not found[name].failure:
                found[name].add(blocks[None], blocks[name])
                told(name, found[name])
        turn += 1
    return found
