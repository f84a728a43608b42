"""Holds what a monitor has seen of a training, by phase, call site and step, and words it for a terminal."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tdev_core.metrics import units

__all__ = ["PHASES", "Spent", "Step", "Summary"]

PHASES = ("forward", "backward", "step")


@dataclass
class Step:
    """One step.

    Attributes:
        begun: seconds since the monitor started.
        seconds: of each of :data:`PHASES`.
        memory: bytes that tensors held at the end of each phase, or the peak if it rose in that phase; of steps that
            follow too soon to ask again, those of the step before.
        to_device: bytes copied from the host.
        to_host: bytes copied to it.
        waits: how often the host waited for the device.
    """

    begun: float
    seconds: list[float] = field(default_factory=lambda: [0.0] * len(PHASES))
    memory: list[int] = field(default_factory=lambda: [0] * len(PHASES))
    to_device: int = 0
    to_host: int = 0
    waits: int = 0


@dataclass(frozen=True)
class Spent:
    """Times that something happened, the seconds and bytes that it took in all, and the steps in which it did."""

    count: int = 0
    seconds: float = 0.0
    bytes: int = 0
    steps: int = 0


@dataclass(frozen=True)
class Summary:
    """The observations of a monitor.

    Attributes:
        steps: how many steps have ended.
        seconds: the median of a step's seconds, by phase.
        memory: the most bytes seen, by phase.
        to_device: bytes copied from the host, the mean of a step.
        to_host: bytes copied to it, the mean of a step.
        waits: by call site and method, most seconds first: where the host waited for the device.
        copies: by call site and direction, most bytes first.
        fallbacks: by operator, most seconds first.
        compiled: how often a compiler ran, and for how long.
        errors: of tdev's errors and warnings: class, number, message, call site, how often.
        timeline: the last steps.
        breaks: where a compiled program left its graph: call site, why, how often.
        loads: by the line that made the loader, how long the program waited for its batches.
        fell: as ``fallbacks``, by call site and operator.
        made: loaders and optimizers: the line that made each, and how.
        recompiled: what a compiler has compiled more than once: the function's line, the last reason, how often, seconds.
        threads: torch's threads within one operator, at the end.
    """

    steps: int
    seconds: dict[str, float]
    memory: dict[str, int]
    to_device: float
    to_host: float
    waits: dict[str, Spent]
    copies: dict[str, Spent]
    fallbacks: dict[str, Spent]
    compiled: Spent
    errors: list[dict[str, Any]]
    timeline: list[Step]
    breaks: list[dict[str, Any]] = field(default_factory=list)
    loads: dict[str, Spent] = field(default_factory=dict)
    fell: dict[str, Spent] = field(default_factory=dict)
    made: list[dict[str, Any]] = field(default_factory=list)
    recompiled: list[dict[str, Any]] = field(default_factory=list)
    threads: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return it made of JSON types only."""
        return asdict(self)

    def __str__(self) -> str:
        lines = [f"  {self.steps:,} steps were watched"]
        if self.steps:
            lines.append("  phase         ms     memory")
            for phase in PHASES:
                lines.append(
                    f"  {phase:<9} {1e3 * self.seconds[phase]:>6.1f} {units.size(self.memory[phase]):>10}"
                )
            lines.append(
                f"  copied in a step: {units.size(self.to_device)} to the device, {units.size(self.to_host)} to the host"
            )
        if self.compiled.count:
            lines.append(f"  compiled {self.compiled.count} times, {self.compiled.seconds:.1f} s")
        for head, table in (
            ("waited for batches", self.loads),
            ("waited for the device", self.waits),
            ("copied", self.copies),
            ("fell back to the CPU", self.fell),
        ):
            if table:
                lines.append(f"  {head}:")
                width = max(map(len, list(table)[:_SHOWN]))
                for name, one in list(table.items())[:_SHOWN]:
                    size = f"  {units.size(one.bytes)}" if one.bytes else ""
                    lines.append(
                        f"    {name:<{width}}  {one.count:>7,}  {one.seconds:>8.3f} s{size}"
                    )
        if self.breaks:
            lines.append("  graphs broke:")
            for broken in self.breaks[:_SHOWN]:
                lines.append(f"    {broken['site'] or '?'}  {broken['count']} × {broken['why']}")
        if self.errors:
            lines.append("  errors and warnings:")
            for error in self.errors[:_SHOWN]:
                what = f"; python -m tdev explain {error['code']}" if error["code"] else ""
                lines.append(
                    f"    {error['site'] or '?'}  {error['count']} × {error['kind']}: {error['message'][:120]}{what}"
                )
        return "\n".join(lines)


_SHOWN = 8
