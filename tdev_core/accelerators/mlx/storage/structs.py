"""The DLPack structs that a thread makes its tensors from: one for each shape of late, and never more than `LIMIT`.

Every thread has its own, so that none writes an address between another's and torch's reading of it. torch looks at a
struct for as long as a tensor made from it lives, so that none is freed: it serves another shape, and when its thread has
ended another thread.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from tdev_core.accelerators.mlx.storage.capsules import Refillable, Shape, Struct, code_of

__all__ = ["LIMIT", "Structs"]

LIMIT = 1024
"""A thread's structs; half a megabyte. A program whose every step has new shapes writes each struct anew, in 2 µs."""

_left: dict[int, deque[Struct]] = {}
"""By number of dimensions the structs of threads that have ended."""


class Structs:
    """One thread's structs by what they make."""

    def __init__(self) -> None:
        self.refillable: dict[Any, dict[Shape, Refillable]] = {}
        """By element type and shape what `allocation.wrap` makes contiguous tensors from."""
        self._known: dict[Any, Struct] = {}
        self._free: dict[int, list[Struct]] = {}

    def of(self, shape: Shape, dtype: Any, strides: Shape | None) -> Struct | None:
        """Find or make the struct of tensors of one shape and element type; None where DLPack has no such type."""
        key = (shape, dtype, strides)
        try:
            return self._known[key]
        except KeyError:
            pass
        code = code_of(dtype)
        if code is None:
            return None
        struct = self._unused(len(shape))
        struct.describe(shape, code, dtype.itemsize, strides)
        self._known[key] = struct
        if strides is None and struct.refillable is not None:
            self.refillable.setdefault(dtype, {})[shape] = struct.refillable
        return struct

    def _unused(self, dimensions: int) -> Struct:
        if len(self._known) >= LIMIT:
            for table in self.refillable.values():
                table.clear()
            for struct in self._known.values():
                self._free.setdefault(struct.dimensions, []).append(struct)
            self._known.clear()
        free = self._free.get(dimensions)
        if free:
            return free.pop()
        try:
            return _left[dimensions].popleft()
        except (KeyError, IndexError):
            return Struct(dimensions)

    def __del__(self, left: dict[int, deque[Struct]] = _left, new: Any = deque) -> None:
        # The parameters, because at the interpreter's end the module may be gone.
        for struct in (*self._known.values(), *(s for free in self._free.values() for s in free)):
            left.setdefault(struct.dimensions, new()).append(struct)
