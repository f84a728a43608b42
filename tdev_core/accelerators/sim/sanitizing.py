"""``torch.cuda._sanitizer`` over ``sim``: torch's own search for races between streams, told of this device's tensors.

The sanitizer is Python: it is told of streams, events and memory (:mod:`tdev_core.accelerators.tracing`) and looks at every
operator. Two things in it ask for CUDA by name, which tensors it looks at and the current stream; these are answered here.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import torch

from tdev_core.accelerators import lagging
from tdev_core.import_hooks import when_imported

__all__ = ["install"]


def _patched(module: ModuleType) -> None:
    sanitizer: Any = module

    class Arguments(sanitizer.ArgumentHandler):  # type: ignore[misc]
        """Arguments and results of an operator, by their addresses."""

        def _handle_argument(
            self,
            value: Any,
            is_write: bool,
            metadata_only: bool,
            name: str | None = None,
            is_output: bool = False,
        ) -> None:
            if not isinstance(value, torch.Tensor) or value.device.type != "sim":
                return
            address = value.data_ptr() or id(value)
            if is_write:
                self.dataptrs_written.add(address)
            elif not metadata_only:
                self.dataptrs_read.add(address)
            names = self.tensor_aliases.setdefault(address, [])
            if name is not None:
                names.append(name)
            if is_output:
                self.outputs.add(address)

    def dispatch(
        self: Any, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        if func is torch.ops.aten.record_stream.default:
            return func(*args, **named)
        makes = bool(sanitizer.FACTORY_FUNCTION_REGEX.match(func._schema.name))
        seen = Arguments()
        seen.parse_inputs(func._schema, args, named, is_factory=makes)
        outputs = func(*args, **named)
        seen.parse_outputs(func._schema, outputs, is_factory=makes)
        errors = self.event_handler._handle_kernel_launch(
            lagging.current()[1],
            seen.dataptrs_read - seen.dataptrs_written,
            seen.dataptrs_written,
            seen.outputs,
            func._schema,
            seen.tensor_aliases,
        )
        if errors:
            for error in errors:
                print(error, file=sys.stderr)
            raise sanitizer.CUDASanitizerErrors(errors)
        return outputs

    sanitizer.CUDASanitizerDispatchMode.__torch_dispatch__ = dispatch


def install() -> None:
    """Have it see this device once a program imports it."""
    when_imported(["torch.cuda._sanitizer"], _patched)
