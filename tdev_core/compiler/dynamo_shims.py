"""Replaces what torch.compile answers by itself while it traces, past the mirror and past the shims of methods.

Source: ``torch/_dynamo/variables/``: ``builder.py``, ``builtin.py``, ``tensor.py`` and
``user_defined.py``, private to torch; the shims are passed over where the installed torch has other ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.privateuse.generator import DeviceGenerator
from tdev_core.accelerators.streams import Stream
from tdev_core.compiler.dynamo_streams import MAKERS, made_in_graph
from tdev_core.devices import THERE, moves_copy, translate
from tdev_core.shims.tensortypes import SparseTensorType, TensorType

__all__ = ["call_class", "call_isinstance", "call_method", "wrap"]

Method = Callable[..., Any]
_Arguments = tuple[list[Any], dict[str, Any]]


def call_method(original: Method) -> Method:
    """Replace ``TensorVariable.call_method``, through which every method of a tensor is traced.

    torch keeps what it does for some of them in functions of their own, in one release found by name and in another in
    a table: the arguments are changed before.
    """

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        change = _CHANGES.get(name)
        if change is not None:
            args, kwargs = change(tx, list(args), dict(kwargs))
        return original(self, tx, name, args, kwargs)

    return call_method


def _copied(tx: Any, args: list[Any], kwargs: dict[str, Any]) -> _Arguments:
    """Say that ``x.to(device)`` copies on the CPU backend: a graph's code holds a device by its value, which does not."""
    where = args[0] if args else kwargs.get("device")
    if where is not None and moves_copy() and len(args) < 4:
        if where.is_python_constant() and where.as_python_constant() is THERE:
            kwargs["copy"] = _constant(tx, True)
    return args, kwargs


def _translated(tx: Any, args: list[Any], kwargs: dict[str, Any]) -> _Arguments:
    """Translate the device of ``x.new_tensor``, for which torch calls ``torch.tensor``."""
    device = kwargs.get("device")
    if device is not None and device.is_python_constant():
        kwargs["device"] = _constant(tx, translate(device.as_python_constant()))
    return args, kwargs


def _named(tx: Any, args: list[Any], kwargs: dict[str, Any]) -> _Arguments:
    """Name ``torch.cuda.FloatTensor`` in ``x.type``: a graph holds it by its name."""
    named = getattr(args[0] if args else kwargs.get("dtype"), "value", None)
    if isinstance(named, TensorType):
        kwargs.pop("dtype", None)
        args[:1] = [_constant(tx, f"{named.__module__}.{named.__name__}")]
    return args, kwargs


_CHANGES: dict[str, Callable[[Any, list[Any], dict[str, Any]], _Arguments]] = {
    "new_tensor": _translated,
    "to": _copied,
    "type": _named,
}


def _constant(tx: Any, value: object) -> Any:
    from torch._dynamo.variables.base import VariableTracker

    return VariableTracker.build(tx, value)


def call_class(original: Method) -> Method:
    """Replace ``UserDefinedClassVariable.call_function``: streams, events and tensors that a compiled function
    makes by the name of a class of tdev's."""

    def call_function(self: Any, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.value in MAKERS:
            return made_in_graph(tx, self.value, list(args), kwargs)[1]
        kind = type(self.value)
        if kind.__module__.startswith("tdev_core.") and "__call__" in vars(kind):
            # Torch before 2.13 does not ask a class's own class what a call of it means.
            make = _constant(tx, kind.__call__)
            return tx.inline_user_function_return(make, [self, *args], kwargs)
        return original(self, tx, args, kwargs)

    return call_function


def call_isinstance(original: Method) -> Method:
    """Replace ``BuiltinVariable.call_isinstance``: ``torch.cuda.FloatTensor`` is a dtype on a device.

    For a stream that is current torch 2.12 has a class of variables that says ``torch.cuda.Stream``, whatever it holds.
    """

    def call_isinstance(self: Any, tx: Any, arg: Any, kinds: Any) -> Any:
        from torch._dynamo.variables import TensorVariable
        from torch._dynamo.variables.streams import StreamVariable

        if isinstance(arg, StreamVariable) and isinstance(arg.value, Stream):
            return _constant(tx, isinstance(arg.value, kinds.as_python_constant()))
        if not isinstance(arg, TensorVariable):
            return original(self, tx, arg, kinds)
        wanted = kinds.as_python_constant()
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        if not any(isinstance(kind, (TensorType, SparseTensorType)) for kind in wanted):
            return original(self, tx, arg, kinds)
        example = arg.as_proxy().node.meta["example_value"]
        return _constant(tx, isinstance(example, wanted))

    return call_isinstance


def wrap(original: Method) -> Method:
    """Replace ``VariableBuilder._wrap``: a device's generator ends the graph where torch's own does.

    torch asks whether the type is exactly ``torch.Generator``, and fails at its subclasses.
    """

    def _wrap(self: Any, value: Any) -> Any:
        if isinstance(value, DeviceGenerator):
            return self.wrap_user_defined(value)
        return original(self, value)

    return _wrap
