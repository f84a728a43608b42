"""Random operators that a compiled backward pass computes again, on tensors of a Python device.

Where ``torch.compile`` meets ``torch.utils.checkpoint``, the forward graph gives out the state that a
draw started from, and the backward graph draws from that state once more. torch has written both
operators for the device types that it knows itself.

Source: ``run_and_save_rng_state`` and ``run_with_rng_state`` in ``torch/_prims/rng_prims.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from tdev_core.import_hooks import when_imported

__all__ = ["install"]

_MODULE = "torch._prims.rng_prims"
_Key: Any = torch._C.DispatchKey


def install(name: str) -> None:
    """Have both operators work on the device type ``name``, once torch's compiler is imported."""
    when_imported({_MODULE}, lambda module: _extend(module, name))


def _extend(module: ModuleType, name: str) -> None:
    states: Any = getattr(torch, name)

    def save(op: Any, *args: Any, **kwargs: Any) -> Any:
        return states.get_rng_state(_index(name, args, kwargs)), op(*args, **kwargs)

    def restore(state: torch.Tensor, op: Any, *args: Any, **kwargs: Any) -> Any:
        index = _index(name, args, kwargs)
        before = states.get_rng_state(index)
        states.set_rng_state(state, index)
        try:
            return op(*args, **kwargs)
        finally:
            states.set_rng_state(before, index)

    _add(module.run_and_save_rng_state, save, name, first=1)
    _add(module.run_with_rng_state, restore, name, first=2)


def _add(operator: Any, ours: Callable[..., Any], name: str, first: int) -> None:
    """Give ``operator`` a kernel of ours; ``first`` is where the arguments of the random operator begin."""
    operator.py_impl(_Key.PrivateUse1)(ours)
    theirs = operator.py_kernels[_Key.BackendSelect]

    @functools.wraps(theirs)
    def select(*args: Any, **kwargs: Any) -> Any:
        here = _index(name, args[first:], kwargs) is not None
        return (ours if here else theirs)(*args, **kwargs)

    # What traces the operator calls torch's function by the variable that they share.
    for rule in operator.python_key_table.values():
        for cell in getattr(rule, "__closure__", None) or ():
            if cell.cell_contents is theirs:
                cell.cell_contents = select
    operator.py_kernels[_Key.BackendSelect] = select


def _index(name: str, args: Any, kwargs: Any) -> int | None:
    """Return the index of the device ``name`` that a call draws on; None where it draws elsewhere."""
    named = kwargs.get("device")
    tensors = (x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor))
    where = next((x.device for x in tensors), None) if named is None else torch.device(named)
    if where is None or where.type != name:
        return None
    current: int = getattr(torch, name).current_device()
    return current if where.index is None else where.index
