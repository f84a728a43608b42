"""Makes a badge of an audit: an SVG, or the JSON that a badge service asks an address for."""

from __future__ import annotations

import json
from html import escape

from tdev_core.audit.collecting import Audit
from tdev_core.site.words import DEVICES

__all__ = ["as_endpoint", "as_svg"]

_COLOURS = ((100, "#2f6f3e"), (95, "#4d6a1d"), (80, "#855300"), (0, "#a32222"))
_UNKNOWN = "#565b61"
_CHARACTER = 6.6
"""The width of a character of the 11-pixel font, in pixels, on average and a little more."""


def _words(audit: Audit, backend: str) -> tuple[str, str, str]:
    percent = audit.percent(backend)
    label = f"runs on {DEVICES[backend].removeprefix('Apple ')}"
    if percent is None:
        return label, "no torch" if audit.files else "unknown", _UNKNOWN
    colour = next(colour for least, colour in _COLOURS if percent >= least)
    return label, f"{percent} %", colour


def as_endpoint(audit: Audit, backend: str) -> str:
    """Return the endpoint JSON of a badge service."""
    label, message, colour = _words(audit, backend)
    body = {"schemaVersion": 1, "label": label, "message": message, "color": colour}
    return json.dumps(body) + "\n"


def as_svg(audit: Audit, backend: str) -> str:
    """Return the badge as an SVG with a title, which screen readers read."""
    label, message, colour = _words(audit, backend)
    left, right = (round(len(words) * _CHARACTER + 12) for words in (label, message))
    title = f"{label}: {message}"
    if audit.used:
        title += " of the names of torch that this project uses"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title>"
        f'<rect width="{left + right}" height="20" rx="3" fill="#33383e"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3H{left}z" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
        f'<text x="{left / 2:g}" y="14">{escape(label)}</text>'
        f'<text x="{left + right / 2:g}" y="14">{escape(message)}</text>'
        "</g></svg>\n"
    )
