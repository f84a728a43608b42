"""Streams and events in compiled functions, on devices that work through one queue in issue order.

torch.compile knows streams by ``torch.accelerator``: it asks that for the current stream, and makes
new ones as ``torch.Stream``. Where there is no accelerator, or one whose streams are tdev's, both
are wrong. :func:`teach` and the shims here have it ask tdev instead.

What lets streams wait for each other leaves nothing in the graph: the queue has everything in order.
Events are recorded, and queues drained, by operators of tdev's (torch's ``streams::`` operators are
moved by passes that Inductor's code for the CPU does not survive). A compiler may move its kernels past
them: like on CUDA, what lies between two events is measured best outside of a compiled function.

Streams and events cannot be constants of a graph. torch keeps a table of them
(``graph_bytecode_inputs.py``), and a graph, as the operators here, names one by its index in it.

Source: ``torch/_dynamo/variables/streams.py`` and ``torch/_dynamo/graph_bytecode_inputs.py``, both
private to torch; the shims are passed over where the installed torch has other ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators import streams
from tdev_core.accelerators.events import Event
from tdev_core.accelerators.streams import Stream
from tdev_core.backend import Backend, current
from tdev_core.compiler.dynamo_effects import effect, substitute, synchronize
from tdev_core.devices import translate

__all__ = [
    "MAKERS",
    "call_event_method",
    "call_stream_method",
    "current_stream_variable",
    "enter_stream",
    "exit_stream",
    "made_in_graph",
    "make_event",
    "make_stream",
    "python_type",
    "reconstruct_event",
    "teach",
]

Method = Callable[..., Any]


def teach() -> None:
    """Have the compiler take tdev's functions for streams as it takes torch's."""

    @substitute(streams.current_stream)
    def current_stream(device: Any = None) -> Any:
        if device is None:
            return torch.cuda.current_stream()
        return torch.cuda.current_stream(translate(device))

    @substitute(streams.stream)
    def stream(stream: Any) -> Any:
        return contextlib.nullcontext() if stream is None else torch.cuda.stream(stream)


# -- what is put into the graph -------------------------------------------------------------------


@effect
def record_event(event: int, stream: int) -> None:
    """Record the event on the stream; both by their index in torch's table."""
    from torch._dynamo.graph_bytecode_inputs import get_external_object_by_index

    get_external_object_by_index(event).record(get_external_object_by_index(stream))


def _put(tx: Any, operator: Callable[..., None], *indices: int) -> None:
    tx.output.create_proxy("call_function", operator, indices, {})


def _put_drain(tx: Any, device: int) -> None:
    if current() is not Backend.CPU:  # where nothing is ever outstanding
        _put(tx, synchronize, device)


def _constant(tx: Any, value: Any) -> Any:
    from torch._dynamo.variables.base import VariableTracker

    return VariableTracker.build(tx, value)


# -- streams and events that a compiled function makes --------------------------------------------


def make_stream(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stream:
    """Make a stream; called by compiled functions, for each ``torch.cuda.Stream(…)`` in their source."""
    return Stream(*args, **kwargs)


def make_event(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Event:
    """Make an event; called by compiled functions, for each ``torch.cuda.Event(…)`` in their source."""
    return Event(*args, **kwargs)


MAKERS: dict[type, str] = {Stream: make_stream.__name__, Event: make_event.__name__}


def made_in_graph(tx: Any, kind: type, args: list[Any], kwargs: dict[str, Any]) -> tuple[int, Any]:
    """Have the compiled function make a stream or event; return its index in torch's table, its variable."""
    from torch._dynamo.bytecode_transformation import create_call_function
    from torch._dynamo.graph_bytecode_inputs import (
        get_external_object_by_index,
        register_graph_created_object,
    )
    from torch._dynamo.variables import ConstDictVariable, TupleVariable
    from torch._dynamo.variables.base import VariableTracker
    from torch._dynamo.variables.builder import wrap_fx_proxy

    positional = TupleVariable(args)
    named: Any = ConstDictVariable({VariableTracker.build(tx, k): v for k, v in kwargs.items()})
    example = kind(*positional.as_python_constant(), **named.as_python_constant())

    def make_again(index: int, codegen: Any) -> None:
        codegen.add_push_null(lambda: codegen.load_import_from(__name__, MAKERS[kind]))
        codegen(positional)
        codegen(named)
        codegen.extend_output(create_call_function(2, False))

    index = register_graph_created_object(example, make_again)
    proxy = tx.output.create_proxy("call_function", get_external_object_by_index, (index,), {})
    return index, wrap_fx_proxy(tx=tx, proxy=proxy)


# -- methods --------------------------------------------------------------------------------------
# Each takes the compiler's state, the variable of the stream or event, and the stream or event that
# is the method's argument, or None; it gives the variable of what the method returns.


def _wait(tx: Any, variable: Any, other: Any) -> Any:
    return _constant(tx, None)  # one queue waits for itself


def _synchronize(tx: Any, variable: Any, other: Any) -> Any:
    _put_drain(tx, _device_index(variable.value))
    return _constant(tx, None)


def _query(tx: Any, variable: Any, other: Any) -> Any:
    _put_drain(tx, _device_index(variable.value))
    return _constant(tx, True)


def _record_on_stream(tx: Any, stream: Any, event: Any) -> Any:
    if event is None:
        index, event = made_in_graph(tx, Event, [], {})
    else:
        index = event.user_object_index
    _put(tx, record_event, index, stream.user_object_index)
    return event


def _record_event(tx: Any, event: Any, stream: Any) -> Any:
    if stream is None:
        stream = tx.symbolic_stream_state.cur_stream()
    _put(tx, record_event, event.user_object_index, stream.user_object_index)
    return _constant(tx, None)


def _device_index(value: Stream | Event) -> int:
    return value.device_index if isinstance(value, Stream) else 0


_STREAM_METHODS: dict[str, Method] = {
    "query": _query,
    "record_event": _record_on_stream,
    "synchronize": _synchronize,
    "wait_event": _wait,
    "wait_stream": _wait,
}
_EVENT_METHODS: dict[str, Method] = {
    "query": _query,
    "record": _record_event,
    "synchronize": _synchronize,
    "wait": _wait,
}


def call_stream_method(original: Method) -> Method:
    """Replace ``StreamVariable.call_method``, for a stream of ours."""
    return _calling(_STREAM_METHODS, original)


def call_event_method(original: Method) -> Method:
    """Replace ``EventVariable.call_method``, for an event of ours."""
    return _calling(_EVENT_METHODS, original)


def _calling(methods: dict[str, Method], original: Method) -> Method:
    def call_method(self: Any, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if name not in methods or not _is_ours(self):
            return original(self, tx, name, args, kwargs)
        # A None that is given for the default is a variable too, but is in no table.
        given = [v for v in (*args, *kwargs.values()) if hasattr(v, "user_object_index")]
        return methods[name](tx, self, given[0] if given else None)

    return call_method


def _is_ours(variable: Any) -> bool:
    return isinstance(getattr(variable, "value", None), (Stream, Event))


def python_type(original: Method) -> Method:
    """Replace ``python_type`` of streams and events, which ``isinstance`` asks for."""

    def python_type(self: Any) -> type:
        found: type = type(self.value) if _is_ours(self) else original(self)
        return found

    return python_type


def reconstruct_event(original: Method) -> Method:
    """Replace ``EventVariable.reconstruct``: the event of this call leaves the graph, as streams do.

    Before 2.13, torch hands out the example that it traced with: the same at every call, and never recorded.
    """

    def reconstruct(self: Any, codegen: Any) -> None:
        if not _is_ours(self) or self.user_object_index is None:
            original(self, codegen)
            return
        from torch._dynamo import graph_bytecode_inputs as table
        from torch._dynamo.bytecode_transformation import create_call_function

        look_up = table.get_external_object_by_index.__name__
        codegen.add_push_null(lambda: codegen.load_import_from(table.__name__, look_up))
        codegen.append_output(codegen.create_load_const(self.user_object_index))
        codegen.extend_output(create_call_function(1, False))

    return reconstruct


# -- which stream is current ----------------------------------------------------------------------


def enter_stream(original: Method) -> Method:
    """Replace ``StreamContextVariable.enter``: the operators inside are not marked."""

    def enter(self: Any, tx: Any, *args: Any) -> Any:
        stream = self.get_stream()
        if not _is_ours(stream):
            return original(self, tx, *args)
        tx.symbolic_stream_state.enter_stream(stream)
        return _constant(tx, None)

    return enter


def exit_stream(original: Method) -> Method:
    """Replace ``StreamContextVariable.exit``: leave what :func:`enter_stream` entered."""

    def exit(self: Any, tx: Any, *args: Any) -> Any:
        if not _is_ours(self.get_stream()):
            return original(self, tx, *args)
        tx.symbolic_stream_state.exit_stream()
        return _constant(tx, None)

    return exit


def current_stream_variable(original: Method) -> Method:
    """Replace ``SymbolicStreamState.cur_stream``: outside of every ``with stream``, tdev's current stream."""

    def cur_stream(self: Any, device: torch.device | None = None) -> Any:
        entered = _entered(self.cur_stream_stack, device)
        if entered is not None:
            return entered
        if device is not None and not _same(streams.current_stream().device, device):
            return original(self, device)  # of another device than the current one
        if not hasattr(self, "_tdev_current"):
            self._tdev_current = _current_when_called()
        return self._tdev_current

    return cur_stream


def _entered(stack: Any, device: torch.device | None) -> Any:
    """Find the innermost stream of ours that a ``with`` of the program has made current on ``device``."""
    from torch._dynamo.variables.streams import StreamVariable

    for variable in reversed(stack):
        # What torch has put at the bottom is not realized yet: nothing may ask for its value.
        if isinstance(variable, StreamVariable) and _is_ours(variable):
            if device is None or _same(variable.value.device, device):
                return variable
    return None


def _current_when_called() -> Any:
    """Make the variable for the stream that is current when the compiled function is called."""
    from torch._dynamo.graph_bytecode_inputs import register_user_object
    from torch._dynamo.source import AttrSource, CallFunctionNoArgsSource, ImportSource
    from torch._dynamo.variables.lazy import LazyVariableTracker

    package, *path = (*streams.__name__.split("."), streams.current_stream.__name__)
    function: Any = ImportSource(package)
    for name in path:
        function = AttrSource(function, name)
    source = CallFunctionNoArgsSource(function)
    stream = streams.current_stream()
    variable: Any = LazyVariableTracker.create(stream, source=source)
    variable.user_object_index = register_user_object(stream, source)
    return variable


def _same(one: torch.device, other: torch.device) -> bool:
    return one.type == other.type and (one.index or 0) == (other.index or 0)
