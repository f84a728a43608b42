"""Numbers with their units, for a person."""

from __future__ import annotations

__all__ = ["size"]


def size(count: float) -> str:
    """Return a number of bytes in the largest unit of which it has one: ``1.5 KiB``."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
