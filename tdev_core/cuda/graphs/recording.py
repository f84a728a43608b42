"""Records operators and runs them again: what a graph capture is made of.

A recorder sees every operator below autograd, forward and backward alike. What it records can be run
again: each operator reads the current contents of the very tensors that it read while it was
recorded, and what it produced then is overwritten with what it produces now.

CUDA does not execute the work that it captures. Operators do run while they are recorded here, because
Python goes on with their results; so that a program finds its own tensors and random numbers as CUDA
would have left them, the recorder undoes both when it stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["Call", "Recorder", "replay"]

_aten = torch.ops.aten

# Their results are uninitialised memory; there is nothing to compute again.
_EMPTY = frozenset(
    {
        _aten.empty.memory_format,
        _aten.empty_strided.default,
        _aten.empty_like.default,
        _aten.new_empty.default,
        _aten.new_empty_strided.default,
    }
)

# Python decides on the value at once; a replay could not. CUDA refuses to capture these as well.
_ESCAPES = frozenset({_aten._local_scalar_dense.default, _aten.equal.default})


# Running statistics are updated without the schema saying so; the arguments' positions.
_HIDDEN_WRITES = {
    _aten.native_batch_norm.default: (3, 4),
    _aten.batch_norm_update_stats.default: (1, 2),
}


@dataclass(frozen=True)
class Call:
    """One recorded operator.

    ``args`` and ``kwargs`` hold the tensors themselves, detached. ``fresh`` are the results that own new
    memory, with their place among the flattened results.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    fresh: tuple[tuple[int, torch.Tensor], ...]

    @property
    def name(self) -> str:
        """Return its qualified name, ``aten::mm`` and the like."""
        return str(self.function._schema.name)


def _alias(value: Any) -> Any:
    """Make a tensor over the same memory with a version counter of its own.

    A replay writes where autograd may have saved tensors; CUDA's replays bump no version either.
    """
    if isinstance(value, torch.Tensor) and value.layout is torch.strided:
        return value.data
    return value


def _geometry(tensor: torch.Tensor) -> tuple[Any, ...]:
    return (
        tensor.untyped_storage()._cdata,
        tensor.storage_offset(),
        tuple(tensor.shape),
        tensor.stride(),
        tensor.dtype,
    )


class Recorder(TorchDispatchMode):
    """Records the operators of this thread between ``__enter__`` and ``__exit__``.

    Args:
        undo: whether to put back, at the end, what the operators changed in tensors that existed
            before.
    """

    def __init__(self, undo: bool = True) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: list[Call] = []
        self._undo = undo
        self._own: dict[int, torch.UntypedStorage] = {}  # memory made while recording, kept alive
        self._saved: dict[tuple[Any, ...], tuple[torch.Tensor, torch.Tensor]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func in _ESCAPES or torch.Tag.dynamic_output_shape in func.tags:
            raise RuntimeError(
                f"{func._schema.name} cannot be captured in a graph: its result decides how the program "
                "goes on, and a replay does not run the program (CUDA refuses it as well). Move it "
                "out of the capture"
            )
        if self._undo:
            self._save(func, args, kwargs)
        result = func(*args, **kwargs)
        self._record(func, args, kwargs, result)
        return result

    def _save(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for tensor in _written(func, args, kwargs):
            if tensor.layout is not torch.strided:
                continue
            key = _geometry(tensor)
            if key[0] not in self._own and key not in self._saved:
                self._saved[key] = (tensor.data, tensor.data.clone())

    def _record(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        returns = func._schema.returns
        values = result if isinstance(result, tuple) and len(returns) != 1 else (result,)
        fresh: list[tuple[int, torch.Tensor]] = []
        place = 0
        for position, value in enumerate(values):
            aliased = position < len(returns) and returns[position].alias_info is not None
            for leaf in pytree.tree_leaves(value):
                if isinstance(leaf, torch.Tensor) and not aliased:
                    fresh.append((place, _alias(leaf)))
                    if leaf.layout is torch.strided:
                        storage = leaf.untyped_storage()
                        self._own[storage._cdata] = storage
                place += 1
        if func in _EMPTY or not (fresh or func._schema.is_mutable):
            return  # empty memory, or a view: its memory is refreshed by what it is a view of
        held = pytree.tree_map(_alias, (args, kwargs))
        self.calls.append(Call(func, held[0], held[1], tuple(fresh)))

    def restore(self) -> None:
        """Put back what the recorded operators changed; the latest change first."""
        for tensor, before in reversed(self._saved.values()):
            tensor.copy_(before)
        self._saved.clear()


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Yield the tensors that the operator writes to, by its schema or by :data:`_HIDDEN_WRITES`."""
    for position in _HIDDEN_WRITES.get(func, ()):
        if position < len(args) and isinstance(args[position], torch.Tensor):
            yield args[position]
    if not func._schema.is_mutable:
        return
    for position, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        if argument.name in kwargs:
            value = kwargs[argument.name]
        elif position < len(args):
            value = args[position]
        else:
            continue
        for leaf in pytree.tree_leaves(value):
            if isinstance(leaf, torch.Tensor):
                yield leaf


def replay(calls: list[Call]) -> None:
    """Run ``calls`` again, into the memory of their first results.

    Raises:
        RuntimeError: a result has another shape than when it was recorded.
    """
    # What was recorded lies below autograd and autocast: neither may act a second time.
    with torch._C._AutoDispatchBelowAutograd(), torch._C._DisableAutocast():
        for call in calls:
            result = call.function(*call.args, **call.kwargs)
            if not call.fresh:
                continue
            leaves = pytree.tree_leaves(result)
            for place, tensor in call.fresh:
                if leaves[place].shape != tensor.shape:
                    raise RuntimeError(
                        f"{call.name} gave shape {tuple(leaves[place].shape)} on replay and "
                        f"{tuple(tensor.shape)} when it was captured; a graph needs fixed shapes"
                    )
                tensor.copy_(leaves[place])
