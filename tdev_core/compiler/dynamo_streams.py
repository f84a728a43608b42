"""Streams and events in compiled functions, on devices that work through one queue in issue order.

torch.compile knows streams by ``torch.accelerator``: it asks that for the current stream, and makes
new ones as ``torch.Stream``. Where there is no accelerator, or one whose streams are tdev's, both
are wrong. :func:`teach` and the shims here have it ask tdev instead.

What lets streams wait for each other leaves nothing in the graph: the queue has everything in order.
Events are recorded, and queues drained, by operators of tdev's (torch's ``streams::`` operators are
moved by passes that Inductor's code for the CPU does not survive). A compiler may move its kernels past
them: like on CUDA, what lies between two events is measured best outside of a compiled function.

Source: ``torch/_dynamo/variables/streams.py`` and ``torch/_dynamo/graph_bytecode_inputs.py``, both
private to torch; the shims are passed over where the installed torch has other ones.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from tdev_core import streams
from tdev_core.backend import Backend, current
from tdev_core.compiler.dynamo_effects import effect, substitute, synchronize
from tdev_core.devices import translate
from tdev_core.events import Event
from tdev_core.stream_objects import Stream

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
    "teach",
]

Method = Callable[..., Any]


def make_stream(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Stream:
    """Called by compiled functions, for each ``torch.cuda.Stream(…)`` in their source."""
    return Stream(*args, **kwargs)


def make_event(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Event:
    """Called by compiled functions, for each ``torch.cuda.Event(…)`` in their source."""
    return Event(*args, **kwargs)


MAKERS: dict[type, str] = {Stream: make_stream.__name__, Event: make_event.__name__}


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


def _is_ours(variable: Any) -> bool:
    return isinstance(getattr(variable, "value", None), (Stream, Event))


def made_in_graph(tx: Any, kind: type, args: list[Any], kwargs: dict[str, Any]) -> tuple[int, Any]:
    """A stream or event that the compiled function makes: its index in torch's table, its variable."""
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


@effect
def record_event(event: int, stream: int) -> None:
    """Record the event on the stream; both by their index in torch's table of objects."""
    from torch._dynamo.graph_bytecode_inputs import get_external_object_by_index

    get_external_object_by_index(event).record(get_external_object_by_index(stream))


def call_stream_method(original: Method) -> Method:
    """``StreamVariable.call_method``: what a stream of one queue has to do of it."""

    def call_method(self: Any, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not _is_ours(self) or name not in _ANSWERED:
            return original(self, tx, name, args, kwargs)
        if name != "record_event":
            return _answered(tx, name, self.value.device_index)
        given = _objects(args, kwargs)
        if given:
            index, event = given[0].user_object_index, given[0]
        else:
            index, event = made_in_graph(tx, Event, [], {})
        _put(tx, record_event, index, self.user_object_index)
        return event

    return call_method


def call_event_method(original: Method) -> Method:
    """``EventVariable.call_method``: what an event in one queue has to do of it."""

    def call_method(self: Any, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if not _is_ours(self) or name not in _ANSWERED:
            return original(self, tx, name, args, kwargs)
        if name != "record":
            return _answered(tx, name, 0)
        given = _objects(args, kwargs)
        stream = given[0] if given else tx.symbolic_stream_state.cur_stream()
        _put(tx, record_event, self.user_object_index, stream.user_object_index)
        return _constant(tx, None)

    return call_method


_ANSWERED = frozenset(
    ("query", "record", "record_event", "synchronize", "wait", "wait_event", "wait_stream")
)


def _objects(args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The streams and events among the arguments; None, which stands for the default, is neither."""
    return [v for v in (*args, *kwargs.values()) if hasattr(v, "user_object_index")]


def _answered(tx: Any, name: str, device: int) -> Any:
    """``wait*`` is true of one queue as it is; for the others the queue has to be drained."""
    if not name.startswith("wait") and current() is not Backend.CPU:
        _put(tx, synchronize, device)
    return _constant(tx, True if name == "query" else None)


def _put(tx: Any, operator: Callable[..., None], *indices: int) -> None:
    tx.output.create_proxy("call_function", operator, indices, {})


def _constant(tx: Any, value: Any) -> Any:
    from torch._dynamo.variables.base import VariableTracker

    return VariableTracker.build(tx, value)


def python_type(original: Method) -> Method:
    """``python_type`` of streams and events: ``isinstance`` asks for it."""

    def python_type(self: Any) -> type:
        found: type = type(self.value) if _is_ours(self) else original(self)
        return found

    return python_type


def enter_stream(original: Method) -> Method:
    """``StreamContextVariable.enter``, without marking the operators inside."""

    def enter(self: Any, tx: Any, *args: Any) -> Any:
        stream = self.get_stream()
        if not _is_ours(stream):
            return original(self, tx, *args)
        tx.symbolic_stream_state.enter_stream(stream)
        return _constant(tx, None)

    return enter


def exit_stream(original: Method) -> Method:
    """``StreamContextVariable.exit``, which leaves what :func:`enter_stream` entered."""

    def exit(self: Any, tx: Any, *args: Any) -> Any:
        if not _is_ours(self.get_stream()):
            return original(self, tx, *args)
        tx.symbolic_stream_state.exit_stream()
        return _constant(tx, None)

    return exit


def current_stream_variable(original: Method) -> Method:
    """``SymbolicStreamState.cur_stream``: outside of every ``with stream``, tdev's current stream."""

    def cur_stream(self: Any, device: torch.device | None = None) -> Any:
        from torch._dynamo.variables.streams import StreamVariable

        for variable in reversed(self.cur_stream_stack):
            known = isinstance(variable, StreamVariable) and _is_ours(variable)
            if known and (device is None or _same(variable.value.device, device)):
                return variable
        if device is not None and not _same(streams.current_stream().device, device):
            return original(self, device)  # of another device than the current one
        if not hasattr(self, "_tdev_current"):
            self._tdev_current = _current()
        return self._tdev_current

    return cur_stream


def _current() -> Any:
    """The variable for the stream that is current when the compiled function is called."""
    from torch._dynamo.graph_bytecode_inputs import register_user_object
    from torch._dynamo.source import AttrSource, CallFunctionNoArgsSource, ImportSource
    from torch._dynamo.variables.lazy import LazyVariableTracker

    module = AttrSource(ImportSource("tdev_core"), "streams")
    source = CallFunctionNoArgsSource(AttrSource(module, "current_stream"))
    stream = streams.current_stream()
    variable: Any = LazyVariableTracker.create(stream, source=source)
    variable.user_object_index = register_user_object(stream, source)
    return variable


def _same(one: torch.device, other: torch.device) -> bool:
    return one.type == other.type and (one.index or 0) == (other.index or 0)
