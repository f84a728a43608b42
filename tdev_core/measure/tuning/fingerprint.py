"""Tells what a step is made of, so that a setting that changes nothing of it need not be raced.

A step's fingerprint is that of its operators, with the types, shapes and strides of what they are given; and of the bits of
its products (of matrices, convolutions), each made once more of given numbers, since a library chooses its kernels by flags
that no operator shows. Numbers are left out: a learning rate, a step's count. Where steps differ by themselves (batches of
another length), or a kernel adds up in another order each time, no two are alike, and everything is raced.

A step that does all that another one does, and more, is known by how often each operator is in them; views, which compute
nothing, are left out of that.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map_only

__all__ = ["Bits", "Fingerprint", "does_more"]

Bits = dict[str, str]
"""Of each product, with the precision that was asked for, a hash of what it comes to."""
_PRODUCTS = ("mm", "mv", "dot", "convolution", "linear")


class Fingerprint(TorchDispatchMode):
    """Watches the thread that has entered it, and what its autograd does for it."""

    def __init__(self, bits: Bits) -> None:
        """Know of no operator yet; ``bits`` are what other fingerprints of the same program have found."""
        super().__init__()  # type: ignore[no-untyped-call]  # torch's, which is not annotated
        self._hash = hashlib.blake2b(digest_size=16)
        self._counts: Counter[str] = Counter()
        self._bits = bits
        self._stance: Any = None

    def __enter__(self) -> Fingerprint:
        if (
            "torch._dynamo" in sys.modules
        ):  # a compiled graph is one operator, if it can be run here at all
            self._stance = torch.compiler.set_stance("force_eager")
            self._stance.__enter__()
        super().__enter__()  # type: ignore[no-untyped-call]  # torch's
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]  # torch's
        if self._stance is not None:
            self._stance.__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        what = [_described(one) for one in tree_leaves((args, kwargs))]
        made_of = repr((str(func), sorted(kwargs), what))
        name = func._schema.name
        if any(one in name for one in _PRODUCTS) and not func._schema.is_mutable:
            key = repr((str(func), what, torch.get_float32_matmul_precision()))
            if key not in self._bits:
                self._bits[key] = _bits(func, args, kwargs)
            made_of += self._bits[key]
        self._hash.update(made_of.encode())
        if not _is_view(func):
            self._counts[hashlib.blake2b(made_of.encode(), digest_size=8).hexdigest()] += 1
        return func(*args, **kwargs)

    def text(self) -> str:
        """Return the fingerprint of what was seen: of all of it in its order, then of each operator with how many there are."""
        counts = (f"{one}*{count}" for one, count in sorted(self._counts.items()))
        return " ".join([self._hash.hexdigest(), *counts])


def does_more(made_of: str, own: str) -> bool:
    """Tell of two steps, by their fingerprints, whether the first does all that the second one does, and more."""
    mine, theirs = _counts(made_of), _counts(own)
    return bool(theirs) and mine > theirs


def _counts(text: str) -> Counter[str]:
    pairs = (part.split("*") for part in text.split()[1:])
    return Counter({one: int(count) for one, count in pairs})


def _is_view(func: Any) -> bool:
    aliases = [one.alias_info for one in func._schema.returns]
    return bool(aliases) and all(one is not None and not one.is_write for one in aliases)


def _described(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        shape = tuple(value.shape)
        strides = value.stride() if value.layout is torch.strided else ()
        return str(value.dtype), shape, strides, value.device.type
    if isinstance(value, (int, float, complex)) and not isinstance(value, bool):
        return type(value).__name__
    return repr(value) if isinstance(value, _NAMED) else type(value).__name__


_NAMED = (bool, str, torch.dtype, torch.device, torch.layout, torch.memory_format, type(None))


def _bits(func: Any, args: Any, kwargs: Any) -> str:
    """Return a hash of what an operator makes of given numbers in place of its tensors; where it cannot, one like no other."""
    drawn = torch.Generator().manual_seed(0)

    def given(one: torch.Tensor) -> torch.Tensor:
        if not one.is_floating_point():
            return one
        values = torch.randn(one.shape, generator=drawn).to(one.device, one.dtype)
        return torch.empty_like(one).copy_(values)  # with its strides

    found = hashlib.blake2b(digest_size=16)
    try:
        with torch.no_grad(), _disable_current_modes():
            mine, named = tree_map_only(torch.Tensor, given, (args, kwargs))
            for one in tree_leaves(func(*mine, **named)):
                if isinstance(one, torch.Tensor):
                    found.update(one.cpu().reshape(-1).view(torch.uint8).numpy().tobytes())
    except RuntimeError:
        found.update(os.urandom(16))
    return found.hexdigest()
