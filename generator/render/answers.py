"""Say of one name, a line for each answer, what every backend does: the end of its docstring."""

from __future__ import annotations

import textwrap
from typing import Any

__all__ = ["HEADING", "Answers"]

HEADING = "Backends:"
"""The line above the answers, by which ``tdev_core.mirror.metadata`` finds them in a docstring."""

_ORDER = ("cuda", "mps", "mlx", "sim", "cpu")
_ROUTES = {
    "same": "torch's own",
    "native": "torch's own",
    "mapped": "calls what the backend has for it",
    "emulated": "tdev's own",
    "noop": "nothing is done",
    "fallback": "runs on the CPU and comes back, with one warning",
    "unsupported": "raises tdev.UnsupportedError",
}


class Answers:
    """The columns of a catalog as sentences, by any public name of a member."""

    def __init__(self, catalog: dict[str, Any]) -> None:
        self._members = {
            path: member
            for member in catalog["members"].values()
            for path in member["exports"]
            if member["mirror"] != "same"
        }

    def of(self, dotted: str) -> list[str]:
        """Return the answers of ``torch.cuda.synchronize``, backends that do the same on one line; none for a private name."""
        member = self._members.get(dotted)
        if member is None:
            return []
        backends: dict[str, list[str]] = {}
        for backend in _ORDER:
            cell = member[backend]
            backends.setdefault(_answer(cell["route"], cell["note"]), []).append(backend)
        return [f"{', '.join(which)}: {answer}" for answer, which in backends.items()]

    def docstring(self, dotted: str, width: int) -> str:
        """Return the answers as they end a docstring in the body of a function; empty where there are none."""
        lines = [
            textwrap.fill(
                line.replace("\\", "\\\\").replace('"', "'"),
                width,
                initial_indent=" " * 8,
                subsequent_indent=" " * 12,
                break_long_words=False,
                break_on_hyphens=False,
            )
            for line in self.of(dotted)
        ]
        return "\n".join([f"    {HEADING}", *lines]) if lines else ""


def _answer(route: str, note: str) -> str:
    said = _ROUTES[route]
    if route in ("same", "native"):
        return note or said
    return f"{said}; {note}" if note else said
