"""Call a function through torch and through tdev with the same inputs, and compare what comes out."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

__all__ = ["Outcome", "difference", "on_cuda", "run"]

# Their contents are whatever the allocator finds there.
UNINITIALISED = frozenset(
    "empty empty_like empty_permuted empty_strided new_empty new_empty_strided resize_ resize_as_".split()
)


@dataclass(frozen=True)
class Outcome:
    """What a call did: its value, or the error it raised."""

    value: Any = None
    error: BaseException | None = None


def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Outcome:
    """Call ``function`` on copies of the arguments, from the same state of the random numbers."""
    args, kwargs = pytree.tree_map(_copied, (args, kwargs))
    torch.manual_seed(1)
    random.seed(1)
    try:
        return Outcome(function(*args, **kwargs))
    except Exception as error:  # whatever it is, the other side must raise it too
        return Outcome(error=error)


def _copied(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) and leaf.layout is not torch.strided:
        return leaf.clone()  # these have no storage that could be copied deeply
    return copy.deepcopy(leaf) if isinstance(leaf, (torch.Tensor, list, dict, set)) else leaf


def on_cuda(value: Any) -> Any:
    """The arguments with every device in them written as a CUDA program would."""

    def replaced(leaf: Any) -> Any:
        if isinstance(leaf, torch.device) and leaf.type == "cpu":
            return torch.device("cuda")
        return "cuda" if isinstance(leaf, str) and leaf in ("cpu", "cpu:0") else leaf

    return pytree.tree_map(replaced, value)


def difference(expected: Outcome, found: Outcome, *, contents: bool = True) -> str:
    """What tells the two apart, in one line; empty where nothing does."""
    if expected.error is not None or found.error is not None:
        if type(expected.error) is not type(found.error):
            return f"raises {found.error!r:.200}, torch {expected.error!r:.200}"
        return "" if _message(expected) == _message(found) else f"raises {found.error!r:.200}"
    ours, our_spec = pytree.tree_flatten(found.value)
    theirs, their_spec = pytree.tree_flatten(expected.value)
    if our_spec != their_spec:
        return f"a {our_spec}, torch a {their_spec}"
    for mine, their in zip(ours, theirs, strict=True):
        told = _leaf(their, mine, contents)
        if told:
            return told
    return ""


def _message(outcome: Outcome) -> str:
    # Addresses of objects differ between two runs of anything.
    return str(outcome.error).partition(" at 0x")[0]


def _leaf(expected: Any, found: Any, contents: bool) -> str:
    if type(expected) is not type(found):
        return f"{type(found).__name__}, torch {type(expected).__name__}"
    if isinstance(expected, torch.Tensor):
        return _tensor(expected, found, contents)
    if isinstance(expected, (float, complex)) and expected != expected:
        return "" if found != found else f"{found}, torch {expected}"
    if isinstance(expected, float) and math.isclose(expected, found, rel_tol=0, abs_tol=0):
        return ""
    if isinstance(expected, torch.UntypedStorage):
        return "" if bytes(expected) == bytes(found) else "other bytes"
    if isinstance(expected, (torch.Generator, torch.fx.GraphModule)):
        return ""
    return "" if bool(expected == found) else f"{found!r:.100}, torch {expected!r:.100}"


def _tensor(expected: torch.Tensor, found: torch.Tensor, contents: bool) -> str:
    for fact in ("dtype", "layout", "shape", "device", "requires_grad", "is_quantized"):
        mine, theirs = getattr(found, fact), getattr(expected, fact)
        if str(mine) != str(theirs):
            return f"{fact} {mine}, torch {theirs}"
    if expected.layout is torch.strided and not expected.is_nested:
        if expected.stride() != found.stride():
            return f"stride {found.stride()}, torch {expected.stride()}"
    if not contents or expected.is_meta:
        return ""
    return "" if _equal(expected, found) else "other values"


def _equal(expected: torch.Tensor, found: torch.Tensor) -> bool:
    if expected.is_nested:
        pairs = zip(expected.unbind(), found.unbind(), strict=True)
        return all(_equal(theirs, mine) for theirs, mine in pairs)
    if expected.layout is not torch.strided:
        expected, found = expected.to_dense(), found.to_dense()
    if expected.is_quantized:
        expected, found = expected.int_repr(), found.int_repr()
    if expected.dtype is torch.complex32:  # neither equal nor == knows it
        expected, found = torch.view_as_real(expected), torch.view_as_real(found)
    if torch.equal(expected, found):
        return True
    # NaN equals NaN here: the same function was called twice.
    return bool(((expected == found) | ((expected != expected) & (found != found))).all())
