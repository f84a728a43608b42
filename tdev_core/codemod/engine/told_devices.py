"""Finds the functions that are told a device and that no file speaks of but those that define them.

Whether their callers tell them the device of a tensor each time, ``_mask(n, x.device)``, those files show by themselves
(:mod:`.rules.tensors`).
"""

from __future__ import annotations

import re

_DEFINED = re.compile(rb"def(?<!\wdef)[ \t]+(\w+)[ \t]*\(([^()]*(?:\([^()]*\)[^()]*)*)\)")
_MAKES = re.compile(rb"\bdevice[ \t]*=[ \t]*\w*device\w*[ \t]*[,)]")
_REACH = 4000
_WORDS = (b"device", b"cuda", b"gpu")
_LIMIT = 64 << 20
"""The bytes of texts that are kept until it is known what is looked for in them."""


class ToldDevices:
    """The texts of a tree; :meth:`at_home` is asked once all are seen."""

    def __init__(self) -> None:
        self._defined: dict[bytes, set[int]] = {}
        self.texts: list[bytes] = []
        """Those that say anything of devices; none where they are too many to keep."""
        self._size = 0

    def see(self, raw: bytes) -> None:
        """Take a file into account."""
        self._size += len(raw)
        if self._size > _LIMIT:
            self.texts.clear()
            self._defined.clear()
            return
        if not any(word in raw for word in _WORDS):
            return  # whoever tells a device there gives one that the text does not name
        self.texts.append(raw)
        if b".device" not in raw:
            return
        for found in _DEFINED.finditer(raw):
            # Called in the same file, or there is nothing to be learnt from it; and it makes something there.
            if b"device" in found[2] and raw.count(found[1] + b"(") > 1:
                if _MAKES.search(raw, found.end(), found.end() + _REACH):
                    self._defined.setdefault(found[1], set()).add(len(self.texts) - 1)

    def at_home(self) -> frozenset[str]:
        """Return the functions whose name stands in no other file, in whatever sense."""
        names = dict(self._defined)
        for number, raw in enumerate(self.texts):
            for name in [n for n, homes in names.items() if n in raw and number not in homes]:
                del names[name]
        return frozenset(name.decode("ascii", "ignore") for name in names)
