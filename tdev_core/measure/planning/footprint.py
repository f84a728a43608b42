"""Counts the bytes of the tensors that a rank holds on its device, by what they are for.

torch's own ``MemTracker`` (``torch/distributed/_tools/mem_tracker.py``) tells of one step of one model; a program has
several of either.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

__all__ = ["KINDS", "Footprint"]

KINDS = ("parameters", "buffers", "gradients", "optimizer", "activations")
_OTHERS = KINDS[-1]


@dataclass
class Footprint:
    """The bytes that live tensors hold now, and at their most.

    Attributes:
        device: the type of device that counts.
        held: bytes by kind; what has no other is of the ``activations``, gathered parameters among them.
        peak: the same at the time when the sum was largest.
        peak_site: ``file:line`` of the program at that time.
    """

    device: str
    site: Callable[[], str]
    held: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    peak: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    peak_site: str = ""
    _known: dict[int, tuple[weakref.ref[Any], str, int]] = field(default_factory=dict)
    _total: int = 0
    _most: int = 0

    def made(self, tensors: Iterable[Any]) -> None:
        """Count the storages of an operator's results that were not there before."""
        for storage in self._storages(tensors):
            if id(storage) not in self._known:
                self._add(storage, _OTHERS)

    def are(self, kind: str, tensors: Iterable[Any]) -> None:
        """Count these tensors as of ``kind`` from now on."""
        for storage in self._storages(tensors):
            known = self._known.pop(id(storage), None)
            if known is not None:
                self._change(known[1], -known[2])
            self._add(storage, kind)

    def resized(self, storage: Any) -> None:
        """Count a storage anew, whose size the program has changed."""
        known = self._known.pop(id(storage), None)
        if known is not None:
            self._change(known[1], -known[2])
            self._add(storage, known[1])

    def _storages(self, tensors: Iterable[Any]) -> Iterator[Any]:
        for tensor in tensors:
            if isinstance(tensor, FakeTensor):
                if tensor.device.type == self.device:
                    yield tensor.untyped_storage()
            elif isinstance(tensor, torch.Tensor) and is_traceable_wrapper_subclass(tensor):
                names, _ = tensor.__tensor_flatten__()
                yield from self._storages(getattr(tensor, name) for name in names)

    def _add(self, storage: Any, kind: str) -> None:
        key, size = id(storage), storage.nbytes()

        def gone(_: Any) -> None:
            found = self._known.pop(key, None)
            if found is not None:
                self._change(found[1], -found[2])

        self._known[key] = weakref.ref(storage, gone), kind, size
        self._change(kind, size)

    def _change(self, kind: str, by: int) -> None:
        self.held[kind] += by
        self._total += by
        if (
            self._total >= self._most
        ):  # as much again: what it is for is known better from the second step on
            if self._total > 1.01 * self._most:  # a search of the stack at each would cost time
                self.peak_site = self.site()
            self._most, self.peak = self._total, dict(self.held)
