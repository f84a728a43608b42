"""Draws what was measured: races of settings, and the steps of a training; as SVG by matplotlib, or in characters for a terminal."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdev_core.errors import ConfigError

__all__ = ["Bar", "bars", "draw_bars", "draw_steps", "steps"]

_WIDTH = 40
_COLUMNS = 60
_BLOCKS = " ▁▂▃▄▅▆▇█"
_PARTS = " ▏▎▍▌▋▊▉█"


@dataclass(frozen=True)
class Bar:
    """A ratio to what 1 is, and the interval that it lies in."""

    label: str
    ratio: float
    low: float
    high: float


def bars(rows: Sequence[Bar]) -> str:
    """Return a bar of characters for each ratio, as long as it is, with a line where 1 is."""
    usable = [one for one in rows if math.isfinite(one.ratio)]
    if not usable:
        return "nothing was measured"
    most = max(1.0, *(one.ratio for one in usable))
    width = max(len(one.label) for one in usable)
    one_at = round(_WIDTH / most)
    lines = []
    for one in usable:
        length = one.ratio / most * _WIDTH
        whole, rest = int(length), int((length % 1) * 8)
        drawn = (_PARTS[8] * whole + (_PARTS[rest] if rest else "")).ljust(_WIDTH)
        if len(drawn.rstrip()) < one_at:
            drawn = f"{drawn[: one_at - 1]}│{drawn[one_at:]}"
        lines.append(
            f"{one.label:<{width}}  {drawn}  {one.ratio:.2f} × ({one.low:.2f} to {one.high:.2f})"
        )
    return "\n".join(lines)


def steps(watched: Mapping[str, Any]) -> str:
    """Return the milliseconds and the memory of a report's steps over time, in a line of characters each."""
    timeline = watched["timeline"]
    if not timeline:
        return "no step was watched"
    rows = {"ms": [1e3 * sum(one["seconds"]) for one in timeline]}
    memory = [max(one["memory"]) / 2**20 for one in timeline]
    if max(memory):
        rows["MiB"] = memory
    lines = []
    for name, values in rows.items():
        most = _top(values)
        shares = (min(1.0, value / most) if most else 0.0 for value in _few(values))
        line = "".join(_BLOCKS[math.ceil(8 * share)] for share in shares)
        lines.append(f"{name:>4}  {line}  {min(values):.3g} to {max(values):.3g}")
    return "\n".join(lines)


def _top(values: Sequence[float]) -> float:
    """Return where a plot of steps ends: the first has what went before it, and is cut."""
    return min(max(values), 4 * statistics.median(values))


def _few(values: Sequence[float]) -> list[float]:
    """Return at most as many numbers as there are columns: the largest of neighbours, so that none is lost."""
    share = math.ceil(len(values) / _COLUMNS)
    return [max(values[at : at + share]) for at in range(0, len(values), share)]


def draw_bars(path: Path, title: str, rows: Sequence[Bar]) -> None:
    """Write the same as SVG.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    usable = [one for one in rows if math.isfinite(one.ratio)]
    figure = _figure(8, 1.2 + 0.32 * max(1, len(usable)))
    axes = figure.subplots()
    for row, one in enumerate(reversed(usable)):
        colour = "#54a24b" if one.high < 1 else "#e45756" if one.low > 1 else "#9d9d9d"
        axes.barh(row, one.ratio, color=colour)
        axes.plot([one.low, one.high], [row, row], color="black", linewidth=1)
    axes.set_yticks(range(len(usable)), [one.label for one in reversed(usable)])
    axes.axvline(1, color="black", linewidth=0.8, linestyle="--")
    axes.set_xlabel("time of a step; 1: the program's own way")
    axes.set_title(title)
    _save(figure, path)


def draw_steps(path: Path, title: str, watched: Mapping[str, Any]) -> None:
    """Write the phases of a report's steps, and their memory, as SVG.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    timeline, phases = watched["timeline"], list(watched["seconds"])
    numbers = range(1, len(timeline) + 1)
    figure = _figure(9, 5)
    above, below = figure.subplots(2, 1, sharex=True)
    seconds = [[1e3 * one["seconds"][at] for one in timeline] for at in range(len(phases))]
    above.stackplot(numbers, *seconds, labels=phases, step="mid")
    above.set_ylim(0, _top([1e3 * sum(one["seconds"]) for one in timeline]) or None)
    above.set_ylabel("ms")
    above.set_title(title, loc="left")
    # Beside the title: on the bars it would cover some.
    above.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=len(phases), frameon=False)
    for at, phase in enumerate(phases):
        below.plot(numbers, [one["memory"][at] / 2**20 for one in timeline], label=phase)
    below.set_ylabel("MiB")
    below.set_xlabel("step")
    below.set_ylim(bottom=0)
    _save(figure, path)


def _figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ConfigError("a plot needs matplotlib: python -m pip install 'tdev[plot]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: Path) -> None:
    import matplotlib

    try:
        # The same numbers give the same file: without a date, and with names that are not drawn by lot.
        with matplotlib.rc_context({"svg.hashsalt": "tdev", "svg.fonttype": "none"}):
            figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
