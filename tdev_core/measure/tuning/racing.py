"""Compares ways to take a step with one another, by turns, until it is told which is faster or that neither is.

What always holds: a verdict is of ratios of neighbouring blocks of steps, so that a machine that grows slow slows both
sides; it weighs how far they scatter, so that a noisy machine takes more blocks, and in the end leaves open what it cannot
tell; and what is left open is no difference.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["WORTH", "Failed", "Heat", "Race", "Sample", "Way", "races"]

WORTH = 0.035
"""The share of a step that has to be found where it is saved, so that the whole is within one in twenty of the best; shares
below half of it are no difference."""
_HELPS, _HOPELESS = math.log(400), math.log(10)
"""How many times likelier one of two has to be, saving :data:`WORTH` and saving nothing, for a race to end: a setting that is
used by mistake is worse than one that is missed, and of ten settings that are tried nine do not help."""
_FEWEST, _MOST, _LAST = 4, 41, 101
"""Blocks without which nothing is said to help; with which a race is given up; and with which one that seems to help is."""
_LOST_AT_ONCE, _ENOUGH = 2, 6
"""Blocks without which nothing is given up; and ratios, of all that take turns, that tell how far those of so few blocks scatter."""
_FINEST = 0.005
"""Ratios are not taken to scatter less: clocks and interrupts are coarse."""
_CONFIDENCE = 0.98
_BLOCK = 0.03
"""Seconds that a block takes at least, in up to :data:`_LONGEST` steps."""
_LONGEST = 8


class Failed(Exception):
    """Steps cannot be taken this way; the message says why."""


@dataclass(frozen=True)
class Sample:
    """One step: seconds, and the loss that its backward pass began with (NaN: none was seen)."""

    seconds: float
    loss: float = math.nan


@dataclass(frozen=True)
class Race:
    """One way to take a step against another.

    Attributes:
        ratios: seconds of the other way in units of the first, block by block.
        failure: why the other way cannot be taken; else empty.
        seconds: median seconds of a step, of the first way and of the other.
        spread: the standard deviation of the ratios' logarithms, as all races that were run by turns have it; None: as these
            ratios have it.
        weighed: how many ratios tell ``spread``.
    """

    ratios: Sequence[float] = ()
    failure: str = ""
    seconds: tuple[float, float] = (math.nan, math.nan)
    spread: float | None = None
    weighed: int = 0

    @property
    def ratio(self) -> float:
        """The median ratio; NaN where nothing was measured."""
        return statistics.median(self.ratios) if self.ratios else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The ratios between which the true median lies, with :data:`_CONFIDENCE`; all of them where they are too few.

        Whatever the distribution, by order statistics: Conover, Practical Nonparametric Statistics, 3.2.
        """
        ordered = sorted(self.ratios)
        if not ordered:
            return math.nan, math.nan
        skipped = _skipped(len(ordered))
        return ordered[skipped], ordered[-1 - skipped]

    @property
    def verdict(self) -> str:
        """``helps``, ``hurts``, ``equal`` or ``fails``."""
        if self.failure:
            return "fails"
        if len(self.ratios) >= _FEWEST and self._evidence(1) >= _HELPS:
            return "helps"
        return "hurts" if self._evidence(-1) >= _HOPELESS else "equal"

    @property
    def decided(self) -> bool:
        """Whether further blocks would tell nothing that matters: how much is lost does not."""
        evidence, count = self._evidence(1), len(self.ratios)
        if self.failure or count >= (_LAST if evidence > 0 else _MOST):
            return True
        return evidence <= -_HOPELESS or (count >= _FEWEST and evidence >= _HELPS)

    def _logs(self) -> tuple[list[float], float]:
        """Return the ratios' logarithms, and how far they scatter."""
        logs = [math.log(one) for one in self.ratios]
        return logs, _spread([logs]) if self.spread is None else self.spread

    def _evidence(self, sign: int) -> float:
        """Return the logarithm of how many times likelier these ratios are where :data:`WORTH` is saved than where nothing is.

        Of the likeliest ways to save that or more, and nothing or less, with noise that is normal but for outliers
        (a generalized likelihood ratio). Of a few blocks the best counts: the others may be outliers. ``sign`` -1 has it of what is
        lost.
        """
        few = len(self.ratios) < _FEWEST
        if few and (len(self.ratios) < _LOST_AT_ONCE or self.weighed < _ENOUGH):
            return 0.0
        logs, spread = self._logs()
        middle = sign * (min(logs) if few else _middle(logs))
        off_nothing = min(middle, 0.0)
        off_worth = max(middle - math.log(1 - WORTH), 0.0)
        return len(logs) / 2 * math.log((spread**2 + off_nothing**2) / (spread**2 + off_worth**2))


def _middle(values: Sequence[float]) -> float:
    """Return the median of the means of all pairs (Hodges and Lehmann's): of few values it tells more than their median."""
    means = [(a + b) / 2 for at, a in enumerate(values) for b in values[at:]]
    return statistics.median(means)


def _spread(several: Sequence[Sequence[float]]) -> float:
    """Return the standard deviation about each one's middle, from the median deviation: outliers do not count."""
    off = []
    for values in several:
        if len(values) > 1:
            middle, share = _middle(values), math.sqrt(len(values) / (len(values) - 1))
            off += [abs(one - middle) * share for one in values]
    if not off:
        return math.inf
    # The median of few deviations comes out too small.
    return max(_FINEST, 1.4826 * statistics.median(off) * (1 + 1.2 / len(off)))


def _skipped(count: int) -> int:
    """Return how many of ``count`` sorted values may be left out at each end of the interval."""
    tail = 0.0
    for skipped in range(count // 2):
        tail += math.comb(count, skipped) / 2**count
        if 2 * tail > 1 - _CONFIDENCE:
            return max(0, skipped - 1)
    return 0


Way = Callable[[int], Sequence[Sample]]
"""Takes so many steps, and returns what each took; raises :class:`Failed` where it cannot."""


@dataclass
class Heat:
    """Ways that took turns, any two of which can be compared.

    Attributes:
        blocks: for each way and turn in which it had one, the median seconds of a step.
        failures: why a way cannot be taken.
        decided: races that were, as they were then: what others are still run for changes nothing of them.
    """

    blocks: dict[str, dict[int, float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    decided: dict[tuple[str, str], Race] = field(default_factory=dict)
    _spread: float = math.inf
    _weighed: int = 0

    def race(self, first: str, other: str) -> Race:
        """Return how one of the ways did against another, by the turns that both had."""
        if (first, other) in self.decided:
            return self.decided[first, other]
        mine, theirs = self.blocks[first], self.blocks[other]
        turns = [turn for turn in mine if turn in theirs]
        pairs = [(mine[turn], theirs[turn]) for turn in turns]
        seconds = math.nan, math.nan
        if pairs:
            seconds = statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)
        failure = self.failures.get(other, "") or self.failures.get(first, "")
        return Race([b / a for a, b in pairs], failure, seconds, self._spread, self._weighed)

    def weigh(self, pairs: Sequence[tuple[str, str]]) -> None:
        """See how far the ratios of these pairs scatter."""
        ratios = [self.race(*pair).ratios for pair in pairs]
        self._spread = _spread([[math.log(one) for one in each] for each in ratios])
        self._weighed = sum(map(len, ratios))


def races(
    ways: Mapping[str, Way],
    pairs: Sequence[tuple[str, str]],
    told: Callable[[str, Race], None] = lambda *_: None,
    in_time: Callable[[], bool] = lambda: True,
    settled: Callable[[Heat, str], bool] = lambda *_: False,
) -> Heat:
    """Take steps several ways by turns, until each pair of them is decided.

    Args:
        ways: by their names, what takes so many steps that way and returns what each took; raises :class:`Failed` where
            that cannot be done, which is a failure of the way's races, or, of the first of them, of this call. They are
            few: what is compared has to be measured within a short time.
        pairs: which of them to compare, the first with the other.
        told: hears of the race of each pair after each of its blocks, by the name of the other.
        in_time: tells whether there is time left.
        settled: tells after each turn whether nobody needs to know how a way does, decided or not.
    """
    found = Heat({name: {} for name in ways})
    counts: dict[str, int] = {}
    first = next(iter(ways))
    for name, way in ways.items():
        try:
            # What is compiled, converted or allocated once belongs to no block.
            usual = statistics.median(one.seconds for one in way(3)[1:])
        except Failed as error:
            if name == first:
                raise
            found.failures[name] = str(error)
        else:
            # Of a way that takes long a block has fewer steps: it is the sooner known to be slow.
            counts[name] = min(_LONGEST, max(1, math.ceil(_BLOCK / max(usual, 1e-9))))
    waiting = [pair for pair in pairs if not found.race(*pair).decided]
    turn = 0
    while waiting and in_time():
        taken = [name for name in ways if any(name in pair for pair in waiting)]
        # Now forwards and now backwards: what one leaves in the caches is the next one's.
        for name in taken if turn % 2 == 0 else taken[::-1]:
            try:
                samples = ways[name](counts[name] + 1)[1:]
            except Failed as error:
                if name == first:
                    raise
                found.failures[name] = str(error)
                continue
            # The step after a change is the change's, and left out.
            found.blocks[name][turn] = statistics.median(one.seconds for one in samples)
            if name != first and any(math.isinf(one.loss) for one in samples):
                found.failures[name] = "the loss is infinite or not a number"
        found.weigh(pairs)
        for pair in waiting:
            told(pair[1], found.race(*pair))
        found.decided |= {pair: race for pair in waiting if (race := found.race(*pair)).decided}
        waiting = [
            pair for pair in waiting if pair not in found.decided and not settled(found, pair[1])
        ]
        turn += 1
    return found
