"""Replaces what torch.compile answers by itself while it traces, past the mirror and past the shims of methods.

Source: ``torch/_dynamo/variables/``: ``builder.py``, ``builtin.py``, ``tensor.py`` and
``user_defined.py``, private to torch; the shims are passed over where the installed torch has other ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.privateuse.generator import DeviceGenerator
from tdev_core.compiler.dynamo_streams import MAKERS, made_in_graph
from tdev_core.devices import THERE, moves_copy, translate
from tdev_core.shims.tensortypes import SparseTensorType, TensorType

__all__ = ["call_class", "call_isinstance", "call_method", "new_tensor", "type_", "wrap"]

Method = Callable[..., Any]


def call_method(original: Method) -> Method:
    """Replace ``TensorVariable.call_method``: a graph's code holds a device by its value.

    On the CPU backend that does not say that ``x.to(device)`` copies.
    """

    def call_method(self: Any, tx: Any, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        where = args[0] if args else kwargs.get("device")
        if name == "to" and where is not None and moves_copy() and len(args) < 4:
            if where.is_python_constant() and where.as_python_constant() is THERE:
                from torch._dynamo.variables.base import VariableTracker

                kwargs = {**kwargs, "copy": VariableTracker.build(tx, True)}
        return original(self, tx, name, args, kwargs)

    return call_method


def new_tensor(original: Method) -> Method:
    """Replace ``TensorVariable.method_new_tensor``, which calls ``torch.tensor`` with the device it is given."""

    def method_new_tensor(self: Any, tx: Any, *args: Any, **kwargs: Any) -> Any:
        from torch._dynamo.variables.base import VariableTracker

        device = kwargs.get("device")
        if device is not None and device.is_python_constant():
            where = translate(device.as_python_constant())
            kwargs["device"] = VariableTracker.build(tx, where)
        return original(self, tx, *args, **kwargs)

    return method_new_tensor


def type_(original: Method) -> Method:
    """Replace ``TensorVariable.method_type``: a graph holds ``torch.cuda.FloatTensor`` by its name."""

    def method_type(self: Any, tx: Any, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
        named = getattr(dtype, "value", None)
        if isinstance(named, TensorType):
            from torch._dynamo.variables.base import VariableTracker

            name = VariableTracker.build(tx, f"{named.__module__}.{named.__name__}")
            return self.call_method(tx, "type", [name, *args], kwargs)
        return original(self, tx, dtype, *args, **kwargs)

    return method_type


def call_class(original: Method) -> Method:
    """Replace ``UserDefinedClassVariable.call_function``: streams, events and tensors that a compiled function
    makes by the name of a class of tdev's."""

    def call_function(self: Any, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.value in MAKERS:
            return made_in_graph(tx, self.value, list(args), kwargs)[1]
        if isinstance(self.value, TensorType):
            from torch._dynamo.variables.base import VariableTracker

            make = VariableTracker.build(tx, type(self.value).__call__)
            return tx.inline_user_function_return(make, [self, *args], kwargs)
        return original(self, tx, args, kwargs)

    return call_function


def call_isinstance(original: Method) -> Method:
    """Replace ``BuiltinVariable.call_isinstance``: ``torch.cuda.FloatTensor`` is a dtype on a device."""

    def call_isinstance(self: Any, tx: Any, arg: Any, kinds: Any) -> Any:
        from torch._dynamo.variables import TensorVariable
        from torch._dynamo.variables.base import VariableTracker

        if not isinstance(arg, TensorVariable):
            return original(self, tx, arg, kinds)
        wanted = kinds.as_python_constant()
        wanted = wanted if isinstance(wanted, tuple) else (wanted,)
        if not any(isinstance(kind, (TensorType, SparseTensorType)) for kind in wanted):
            return original(self, tx, arg, kinds)
        example = arg.as_proxy().node.meta["example_value"]
        return VariableTracker.build(tx, isinstance(example, wanted))

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
