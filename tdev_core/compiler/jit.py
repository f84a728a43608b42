"""Devices in TorchScript: what a script names in its source is translated in its graph.

A script is compiled: ``x.to("cuda")`` in it becomes a constant of the graph that torch's own operators
read at run time, out of reach of every wrapper. What :func:`script` and :func:`load` hand out has these
constants translated. Where a script only learns at run time what a device is called (a string parameter),
:mod:`tdev_core.compiler.jit_names` puts the translation itself into the graph.

Source: ``torch.jit.script``, ``torch.jit.load``; ``aten::device`` and ``aten::to`` in
``torch/csrc/jit/runtime/register_prim_ops.cpp``.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch

from tdev_core import torchscript
from tdev_core.compiler import jit_calls, jit_names
from tdev_core.devices import ACCELERATORS, moves_copy, translate

__all__ = ["load", "script"]

_MOVE = "aten::to"
_UNWRAPPING = ("prim::unchecked_cast", "prim::unchecked_unwrap_optional", "aten::_unwrap_optional")
_COPY = 4  # to(self, device, dtype, non_blocking, copy, …)
_scripting = threading.RLock()
"""Held until what a thread scripts is translated: a function that two of them call is compiled by the first."""


def script(
    obj: Any,
    optimize: Any = None,
    _frames_up: int = 0,
    _rcb: Any = None,
    example_inputs: Any = None,
) -> Any:
    """``torch.jit.script`` with the devices that the source names translated."""
    # What this call compiles with it is translated too; what others have compiled, even meanwhile, is theirs.
    with _scripting:
        before = {function.qualified_name for function in torchscript.compiled_functions()}
        given = optimize, _frames_up + _frames(), _rcb, example_inputs
        result = torch.jit.script(obj, *(given if _is_torchs(torch.jit.script) else ()))
        for function in list(jit_calls.called(_graphs(result), _classes(result))):
            if function.qualified_name not in before:
                _translate_graph(function.graph)
        if isinstance(result, torch.jit.ScriptFunction):
            _translate_graph(result.graph)
        if isinstance(result, torch.jit.ScriptModule):
            _translate_module(result)
    return result


def _is_torchs(scripting: Any) -> bool:
    """Tell whether no program has put something else in its place, which need not take what torch's does."""
    return str(getattr(scripting, "__module__", "")).startswith("torch.")


def _graphs(scripted: Any) -> list[Any]:
    if isinstance(scripted, torch.jit.ScriptFunction):
        return [scripted.graph]
    if not isinstance(scripted, torch.jit.ScriptModule):
        return []
    modules = [m for m in scripted.modules() if isinstance(m, torch.jit.ScriptModule)]
    return [m._c._get_method(name).graph for m in modules for name in m._c._method_names()]


def _classes(scripted: Any) -> list[str]:
    if not isinstance(scripted, type):
        return []
    name = torchscript.compiled_class(scripted)
    return [] if name is None else [name]


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False
) -> Any:
    """``torch.jit.load`` on the translated device, with the devices that the code names translated.

    What was saved from CUDA goes to the active backend's device where ``map_location`` is None, and what was saved from
    the CPU stays there: what is CUDA's is told by torch, which cannot restore it.
    """
    where = translate(map_location)
    at = f.tell() if where is None and hasattr(f, "seek") else None
    try:
        result = torch.jit.load(f, where, _extra_files, _restore_shapes)
    except RuntimeError:
        native = translate("cuda")
        if where is not None or native.type == "cuda":
            raise
        if at is not None:
            f.seek(at)
        result = torch.jit.load(f, native, _extra_files, _restore_shapes)
    _translate_module(result)
    return result


def _frames() -> int:
    """Tell how many frames lie between the program and torch: torch reads names where it was called."""
    frame = sys._getframe(1)
    count = 0
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        count += 1
    return count


def _is_ours(module: str) -> bool:
    return module.startswith(("tdev.", "tdev_core."))


def _translate_module(module: Any) -> None:
    # A method's graph is taken over by its callers when they first run: the innermost come first.
    for part in reversed(list(module.modules())):
        if not isinstance(part, torch.jit.ScriptModule):
            continue
        for name in part._c._method_names():
            graph = part._c._get_method(name).graph
            if any(node.kind() == "prim::CallFunction" for node in jit_calls.nodes(graph)):
                torch._C._jit_pass_inline(
                    graph
                )  # the functions of a loaded file have no other name
            _translate_graph(graph)


def _translate_graph(graph: Any) -> None:
    for node in jit_calls.nodes(graph):
        match node.kind():
            case "prim::Constant":
                _translate_constant(graph, node)
            case "aten::device":
                _translate_call(graph, node)
            case "aten::cuda":
                _translate_cuda(graph, node)
            case "aten::to":
                _copy_by_value(graph, node)
            case _:
                pass  # names no device of its own


def _translate_constant(graph: Any, node: Any) -> None:
    value = node.output()
    if value.type().kind() != "DeviceObjType":
        return
    old = value.toIValue()
    new = translate(old)
    if new == old:
        return
    node.s_("value", str(new))
    if old.type in ACCELERATORS:
        _copy_moves(graph, value, True)


def _translate_call(graph: Any, node: Any) -> None:
    """``torch.device("cuda", 0)`` becomes a constant; TorchScript leaves it for run time."""
    values = list(node.inputs())
    if not values or str(values[0].type()) != "str":
        return  # the device of a tensor, or of another device
    if any(value.node().kind() != "prim::Constant" for value in values):
        _translate_name(graph, node, values)
        return
    arguments = [value.toIValue() for value in values]
    kind, index = arguments[0], arguments[1] if len(arguments) > 1 else None
    old = torch.device(kind) if index is None else torch.device(kind, index)
    new = translate(old)
    if new == old:
        return
    graph.setInsertPoint(node)
    constant = graph.insertConstant(new)
    node.output().replaceAllUsesWith(constant)
    if old.type in ACCELERATORS:
        _copy_moves(graph, constant, True)
    node.destroy()


def _translate_name(graph: Any, node: Any, values: list[Any]) -> None:
    graph.setInsertPoint(node)
    device, translated = jit_names.insert(graph, values)
    node.output().replaceAllUsesWith(device)
    _copy_moves(graph, device, translated)
    node.destroy()


def _translate_cuda(graph: Any, node: Any) -> None:
    target = translate("cuda")
    if target.type == "cuda":
        return
    graph.setInsertPoint(node)
    inputs = [next(node.inputs())]
    inputs += [graph.insertConstant(value) for value in (target, None, False, moves_copy())]
    move = graph.create(_MOVE, inputs, 1)
    move.insertBefore(node)
    move.output().setType(node.output().type())
    node.output().replaceAllUsesWith(move.output())
    node.destroy()


def _copy_by_value(graph: Any, node: Any) -> None:
    """Have a move copy whose device the script is given: by its value, the accelerator's is the CPU's."""
    inputs = list(node.inputs())
    if not moves_copy() or len(inputs) <= _COPY:
        return
    device = inputs[1]
    while device.node().kind() in _UNWRAPPING:
        device = next(device.node().inputs())
    if "Device" in str(device.type()) and device.node().kind() in ("prim::Param", "prim::GetAttr"):
        _copy_move(graph, node, True)


def _copy_moves(graph: Any, device: Any, translated: Any) -> None:
    """Have a translated move copy, inside a script too; ``translated`` is true, or a truth of the graph."""
    if not moves_copy():
        return
    for use in device.uses():
        node = use.user
        if node.kind() == _MOVE and use.offset == 1 and len(list(node.inputs())) > _COPY:
            _copy_move(graph, node, translated)


def _copy_move(graph: Any, node: Any, translated: Any) -> None:
    copy = list(node.inputs())[_COPY]
    if translated is True:
        graph.setInsertPoint(node)
        node.replaceInput(_COPY, graph.insertConstant(True))
    elif copy.node().kind() == "prim::Constant" and not copy.toIValue():
        node.replaceInput(_COPY, translated)
