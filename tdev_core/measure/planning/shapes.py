"""Has a program compute shapes and no numbers on the accelerator, while its own host code runs as it is.

Tensors of the device are torch's ``FakeTensor``; those of the host are real, but for large ones, such as the parameters of a
model that is built on the CPU. What is read from the device is 0, since nothing was computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._guards import active_fake_mode
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
)
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from tdev_core.errors import UnsupportedError
from tdev_core.measure.places import site_of_program

__all__ = ["OnPaper", "formatted"]

_LARGE = 1 << 24
"""Bytes from which a tensor on the host is not made either."""
_READS = torch.ops.aten._local_scalar_dense.default
_COPY = torch.ops.aten.copy_.default
_swap: Any = torch.utils.swap_tensors  # torch gives it no types


class OnPaper(TorchDispatchMode):
    """Make a context in which operators on ``device`` give shapes; ``heard(operator, arguments, result)`` hears of each."""

    def __init__(self, device: str, heard: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch gives it no types
        self._device, self._heard = device, heard
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if DTensor in types:
            return NotImplemented  # it comes back with what this rank has
        if active_fake_mode() is not None:
            return func(*args, **named)  # DTensor asks for a shape: nothing of that size is made
        given = tree_leaves((args, named))
        if not any(map(self._is_there, given)) and not _makes_much(func, args, named):
            return func(*args, **named)
        if func is _READS:
            return torch.zeros((), dtype=args[0].dtype).item()
        if func is _COPY and not isinstance(args[0], FakeTensor) and args[0].device.type == "cpu":
            return args[0].zero_()
        try:
            with self._fake:
                result = func(*args, **named)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise UnsupportedError(
                f"{func} in {site_of_program()} gives a shape that depends on numbers, and a plan computes none. Instead: give "
                "the program a fixed shape there, or plan a smaller part of it by tdev.plan.",
                "TDEV105",
            ) from error
        except UnsupportedOperatorException as error:
            raise UnsupportedError(
                f"{func} in {site_of_program()} does not say which shape it gives. Instead: register it with "
                "torch.library.register_fake.",
                "TDEV105",
            ) from error
        result = self._heard(func, (args, named), result)
        return tree_map_only(FakeTensor, _on_host, result)

    def swap(self, one: torch.Tensor, other: torch.Tensor) -> None:
        """Swap two tensors, as a module does whose parameters are fake; torch's mode refers to each, which forbids it."""
        self._fake.fake_tensor_converter.meta_converter.tensor_memo.clear()
        _swap(one, other)

    def _is_there(self, value: Any) -> bool:
        if isinstance(value, torch.Tensor):
            return isinstance(value, FakeTensor) or value.device.type == self._device
        return isinstance(value, torch.device) and value.type == self._device


def formatted(tensor: torch.Tensor, spec: str) -> str:
    """Format a tensor as torch does one with numbers: ``f"{norm:.2f}"``."""
    return format(tensor.item(), spec) if tensor.dim() == 0 else object.__format__(tensor, spec)


def _makes_much(func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Tell whether an operator makes a large tensor out of nothing, as the constructor of a layer does."""
    if func.namespace != "aten" or any(
        isinstance(x, torch.Tensor) for x in tree_leaves((args, named))
    ):
        return False
    sizes = args[0] if args and isinstance(args[0], (list, tuple, torch.Size)) else ()
    count = 1
    for size in sizes:
        count *= size if isinstance(size, int) else 1
    return count * 4 >= _LARGE


def _on_host(value: FakeTensor) -> torch.Tensor:
    """Return a small tensor that has come to the host as a real one, of zeros."""
    if value.device.type != "cpu" or value.nbytes >= _LARGE:
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype).zero_()
