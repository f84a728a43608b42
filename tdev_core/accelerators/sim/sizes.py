"""Sizes of memory as people write them."""

from __future__ import annotations

import re

__all__ = ["parse_size"]

_UNITS = {"": 1, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str) -> int:
    """Return the bytes for ``"512"``, ``"8GiB"``, ``"1.5 GB"``, ``"200M"``; one-letter units are powers of 1024.

    Raises:
        ValueError: the text is not a positive size.
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None:
        raise ValueError(text)
    number, unit, suffix = match.groups()
    if suffix == "ib" and not unit:
        raise ValueError(text)
    base = 1000 if unit and suffix == "b" else 1024
    power = 0 if not unit else _UNITS[unit]
    size = int(float(number) * base**power)
    if size < 1:
        raise ValueError(text)
    return size
