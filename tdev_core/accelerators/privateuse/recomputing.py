"""Random operators that a compiled backward pass computes again, on tensors of a Python device.

Where ``torch.compile`` meets ``torch.utils.checkpoint``, the forward graph gives out the state that a
draw started from, and the backward graph draws from that state once more. torch has written both
operators for the device types that it knows itself.

Source: ``run_and_save_rng_state`` and ``run_with_rng_state`` in ``torch/_prims/rng_prims.py``, private to torch, and the
tables of a higher-order operator, ``HigherOrderOperator`` in ``torch/_ops.py``. Rules are added to those, and put before
torch's where torch has one for all devices; nothing of torch's is rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on

__all__ = ["install"]

_MODULE = "torch._prims.rng_prims"


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

    with relying_on(
        _MODULE,
        f"torch.compile does not compile torch.utils.checkpoint around random operators on '{name}'",
    ):
        _add(module.run_and_save_rng_state, save, name, leading=1)
        _add(module.run_with_rng_state, restore, name, leading=2)
        _trace(module.run_and_save_rng_state, save, name)


def _add(operator: Any, ours: Callable[..., Any], name: str, leading: int) -> None:
    """Give ``operator`` a kernel of ours; its own arguments, ``leading`` in number, stand before those of the random one."""
    key: Any = torch._C.DispatchKey
    theirs = operator.py_kernels[key.BackendSelect]

    def select(*args: Any, **kwargs: Any) -> Any:
        here = _index(name, args[leading:], kwargs) is not None
        return (ours if here else theirs)(*args, **kwargs)

    operator.py_kernels[key.BackendSelect] = select
    operator.py_impl(key.PrivateUse1)(ours)  # which has the operator look all kernels up again


def _trace(operator: Any, ours: Callable[..., Any], name: str) -> None:
    """Have what traces ``operator`` into a graph run ``ours``, where torch's rule chooses among its own devices."""
    from torch.fx.experimental.proxy_tensor import ProxyTorchDispatchMode, track_tensor_tree

    theirs = operator.python_key_table[ProxyTorchDispatchMode]

    def trace(mode: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
        if _index(name, args, kwargs) is None:
            return theirs(mode, op, *args, **kwargs)
        out = ours(op, *args, **kwargs)
        given, named = tree_map(mode.tracer.unwrap_proxy, ((op, *args), kwargs))
        proxy = mode.tracer.create_proxy("call_function", operator, given, named)
        return track_tensor_tree(out, proxy, constant=None, tracer=mode.tracer)

    operator.python_key_table[ProxyTorchDispatchMode] = trace


def _index(name: str, args: Any, kwargs: Any) -> int | None:
    """Return the index of the device ``name`` that a call draws on; None where it draws elsewhere."""
    named = kwargs.get("device")
    tensors = (x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor))
    where = next((x.device for x in tensors), None) if named is None else torch.device(named)
    if where is None or where.type != name:
        return None
    current: int = getattr(torch, name).current_device()
    return current if where.index is None else where.index
