"""Writes a report as one page of HTML that needs nothing beside it: no script, no style sheet, no picture of its own.

Everything that comes from the program (paths, messages, names) is escaped; charts are SVG in the page.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

__all__ = ["page"]

_WIDTH, _HEIGHT = 900, 160
_COLOURS = ("#4c78a8", "#f58518", "#54a24b")
_NUMBER = ' class="n"'
_STYLE = (
    "body{font:14px/1.45 system-ui,sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222;background:#fff}"
    "table{border-collapse:collapse;margin:.5em 0 1.5em}td,th{padding:.15em .9em .15em 0;text-align:left;vertical-align:top}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}code{font-size:13px}svg{background:#f6f6f6}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}svg{background:#242424}svg text{fill:#ddd}}"
)


def page(report: Any) -> str:
    """Return the page of a :class:`.report.Report`."""
    rows: list[Sequence[str]]
    seen = report.watched
    parts = [f"<h1>tdev report: backend {escape(report.backend)}</h1>"]
    if seen is not None and seen.steps:
        parts += [
            f"<p>{seen.steps:,} steps, {1e3 * sum(seen.seconds.values()):.1f} ms each in the median.</p>",
            "<h2>Timeline</h2>", _bars(seen.timeline, tuple(seen.seconds)),
            "<h2>Memory over steps</h2>", _memory(seen.timeline),
            "<h2>Phases</h2>",
            _table(
                ("phase", "ms", "peak MiB"),
                [(name, f"{1e3 * seen.seconds[name]:.2f}", f"{seen.memory[name] / 2**20:.1f}") for name in seen.seconds],
            ),
            f"<p>Copied in a step: {seen.to_device / 2**20:.3f} MiB to the device, {seen.to_host / 2**20:.3f} MiB to the host."
            f" Compiled {seen.compiled.count} times in {seen.compiled.seconds:.2f} s.</p>",
        ]  # fmt: skip
    if seen is not None:
        for head, table in (
            ("Waited for batches", seen.loads), ("Waited for the device", seen.waits), ("Copies", seen.copies), ("Fell back to the CPU", seen.fell)
        ):  # fmt: skip
            if table:
                rows = [
                    (name, f"{one.count:,}", f"{one.seconds:.4f}", f"{one.bytes / 2**20:.3f}")
                    for name, one in list(table.items())[:50]
                ]
                parts += [f"<h2>{head}</h2>", _table(("where", "times", "seconds", "MiB"), rows)]
        if seen.breaks:
            rows = [(one["site"], f"{one['count']:,}", one["why"]) for one in seen.breaks[:50]]
            parts += ["<h2>Graphs broke</h2>", _table(("where", "times", "why"), rows, (1,))]
        if seen.errors:
            rows = [
                (
                    error["site"],
                    f"{error['count']:,}",
                    error["kind"],
                    error["message"],
                    f"python -m tdev explain {error['code']}" if error["code"] else "",
                )
                for error in seen.errors[:50]
            ]
            parts += [
                "<h2>Errors and warnings</h2>",
                _table(("where", "times", "what", "message", "what to do"), rows, (1,)),
            ]
    rows = [
        (name, f"{count:,}", report.routes.get(name, ""))
        for name, count in list(report.calls.items())[:100]
    ]
    parts += [
        "<h2>Calls</h2>",
        _table(("function", "times", "route"), rows, (1,))
        if rows
        else "<p>No routed function was called.</p>",
    ]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>tdev report</title>'
        f"<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] | None = None
) -> str:
    right = set(range(1, len(heads)) if numbers is None else numbers)

    def cells(row: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{_NUMBER if at in right else ''}>{escape(text)}</{tag}>"
            for at, text in enumerate(row)
        )

    body = "\n".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return f"<table><tr>{cells(heads, 'th')}</tr>\n{body}</table>"


def _thinned(steps: Sequence[Any], most: int = 300) -> list[Any]:
    """Return at most so many steps, spread evenly."""
    stride = max(1, -(-len(steps) // most))
    return list(steps[::stride])


def _bars(steps: Sequence[Any], phases: Sequence[str]) -> str:
    """Draw a bar for each step, of its phases one on the other; the time from its foot, the step from the left."""
    shown = _thinned(steps)
    totals = [sum(step.seconds) for step in shown]
    top = (
        min(max(totals), 4 * statistics.median(totals)) or 1e-9
    )  # the first, with what went before it, is cut
    width = _WIDTH / len(shown)
    bars = []
    for at, step in enumerate(shown):
        foot = float(_HEIGHT)
        for seconds, colour in zip(step.seconds, _COLOURS, strict=True):
            high = min(seconds / top * _HEIGHT, foot)
            foot -= high
            bars.append(
                f'<rect x="{at * width:.1f}" y="{foot:.1f}" width="{max(width - 0.3, 0.5):.1f}" height="{high:.1f}" fill="{colour}"/>'
            )
    legend = " ".join(
        f'<span style="color:{colour}">■</span> {escape(name)}'
        for name, colour in zip(phases, _COLOURS, strict=True)
    )
    drawn = _svg("".join(bars), f"{1e3 * top:.1f} ms at the top; {len(steps):,} steps")
    return f"<p>{legend}</p>{drawn}"  # beside the drawing: no bar covers it


def _memory(steps: Sequence[Any]) -> str:
    """Draw the most memory of each step as a line."""
    shown = _thinned(steps)
    most = [max(step.memory) for step in shown]
    top = max(most) or 1
    across = _WIDTH / max(1, len(most) - 1)
    points = " ".join(
        f"{at * across:.1f},{_HEIGHT - size / top * (_HEIGHT - 4):.1f}"
        for at, size in enumerate(most)
    )
    line = f'<polyline points="{points}" fill="none" stroke="{_COLOURS[0]}" stroke-width="1.5"/>'
    return _svg(line, f"{top / 2**20:.1f} MiB at the top")


def _svg(inner: str, caption: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%" role="img" aria-label="{escape(caption)}">{inner}</svg>'
        f"<p>{escape(caption)}</p>"
    )
