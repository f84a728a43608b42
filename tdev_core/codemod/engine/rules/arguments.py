"""Reads the arguments of a call: which one is the device, and whether it may be CUDA."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import MAY_BE_CUDA, Kind
from tdev_core.codemod.engine.analysis.nodes import descendants, string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import (
    argument_of,
    default_of,
    parameters,
    plain_parameters,
)
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.tensors import is_own_device, is_placed


@dataclass(frozen=True)
class Call:
    """A call's arguments, apart from what is called."""

    args: tuple[cst.Arg, ...]

    def argument(self, name: str, position: int | None) -> cst.BaseExpression | None:
        """Return the argument given by keyword or position, if it is written out."""
        for arg in self.args:
            if arg.keyword is not None and arg.keyword.value == name:
                return arg.value
        if position is None:
            return None
        for index, arg in enumerate(self.args):
            if arg.keyword is not None or arg.star:
                return None
            if index == position:
                return arg.value
        return None

    @property
    def double_starred(self) -> list[cst.BaseExpression]:
        return [a.value for a in self.args if a.star == "**"]


# What is given to these need not be a device yet: they are where one is made.
_MAKES_DEVICES = frozenset({"torch.device", "torch.set_default_device"})

Answer = Literal["absent", "may be cuda", "not cuda"]


def _is_a_string_here(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether ``if isinstance(device, str)`` is around a use of a variable, whatever its annotation says of it."""
    if not isinstance(value, cst.Name):
        return False
    below: cst.CSTNode = value
    for parent in file.tree.ancestors(value):
        if isinstance(parent, (cst.If, cst.IfExp)) and parent.body is below:
            if file.tree.text(parent.test).strip() == f"isinstance({value.value}, str)":
                return True
        elif isinstance(parent, cst.FunctionDef):
            break
        below = parent
    return False


def device_argument(file: File, call: Call, name: str) -> Answer:
    """Tell what the device parameters of the torch function ``name`` get in this call.

    Page-locked memory counts as CUDA: stock torch makes none without it.
    """
    pinned = call.argument("pin_memory", None)
    if pinned is not None and not _pins_for_cuda_alone(file, pinned):
        return "may be cuda"
    if name == "torch.set_autocast_enabled" and len(call.args) == 1 and not call.args[0].star:
        return "absent"  # the older form: whether, and always CUDA's
    for parameter, position in file.names.device_params[name]:
        value = call.argument(parameter, position)
        if value is None:
            continue
        if parameter == "device_ids":
            return "may be cuda"  # numbers of GPUs
        if parameter == "map_location" and _is_cpus_arm(file, value):
            return "not cuda"
        if parameter == "map_location":
            return "may be cuda" if _map_location(file, value) else "not cuda"
        if _is_cpus_arm(file, value):
            return "not cuda"
        makes = name in _MAKES_DEVICES and bool(file.flow.kinds(value) & MAY_BE_CUDA)
        may_be = _is_a_string_here(file, value) or (
            (makes or file.flow.may_be_cuda(value)) and not is_own_device(file, value)
        )
        may_be = may_be and not _holds_tensors_own(file, value)
        if name == "torch.Generator" and not may_be:
            return "may be cuda" if _is_a_device_there(file, value) else "not cuda"
        return "may be cuda" if may_be else "not cuda"
    found = False
    for value in call.double_starred:
        for given in _dictionary_values(file, value, file.names.device_params[name][0][0]):
            found = True
            loads = file.names.device_params[name][0][0] == "map_location"
            if loads:
                may_be = _map_location(file, given)
            else:
                may_be = file.flow.may_be_cuda(given) and not is_own_device(file, given)
            if may_be:
                return "may be cuda"
        if not found and _holds_a_device(file, value, file.names.device_params[name][0][0]):
            return "may be cuda"
        if not found and _FACTORY.fullmatch(file.tree.text(value)) is not None:
            return "may be cuda"  # a base class keeps them, in another file
    shown = found and all(_is_all_there(file, each) for each in call.double_starred)
    return "not cuda" if shown else "absent"


def is_of_unknown_origin(file: File, call: Call, name: str) -> bool:
    """Tell whether what a torch function is given for its device may be anything: no word, nothing typed, and no answer of CUDA's.

    ``torch.cuda.current_device()`` becomes tdev's, and so does who is told its number.
    """
    values = [call.argument(*parameter) for parameter in file.names.device_params[name]]
    given = [value for value in values if value is not None]
    return bool(given) and not any(
        file.flow.kinds(each) & _OF_CUDA
        or any("cuda" in file.tree.text(e) for e in (each, *file.flow.all_values(each)))
        for each in given
    )


_OF_CUDA = frozenset({Kind.CUDA, Kind.TYPED})


def _is_a_device_there(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a generator is made for a device that is there, and is not the CPU: torch makes none for a device of tdev's."""
    said = file.flow.word(value)
    return (
        said is None
        and _OF_THE_CPU.search(file.tree.text(value)) is None
        and is_own_device(file, value)
    )


_OF_THE_CPU = re.compile(r"[\"'](?:cpu|meta)\b")


# Questions that stay CUDA's where they decide about page-locked memory.
_ASKS_CUDA = re.compile(
    r"False|[\w.\[\]]+\.is_cuda|[\w.]*cuda\.is_available\(\)|[\w.\[\]]+\s*==\s*[\"']cuda[\"']"
)


def _pins_for_cuda_alone(file: File, pinned: cst.BaseExpression) -> bool:
    """Tell whether memory is never pinned, or only where a question says CUDA: ``pin_memory=x.is_cuda``."""
    return _ASKS_CUDA.fullmatch(file.tree.text(pinned)) is not None


# What torch's own modules call the device and the dtype that they are made with.
_FACTORY = re.compile(r"self\._?(?:factory|device)_kwargs")


def _holds_a_device(file: File, value: cst.BaseExpression, key: str) -> bool:
    """Tell whether a function hands on all that it is given by name, and asks that for a device: ``kwargs.get("device")``.

    It need not be there, but whoever gives one gives what that question may answer. What is taken out, or set there, is another one,
    and a file that has such options of its own, by the same name, shows what it hands on.
    """
    home = enclosing_function(file, value)
    if not isinstance(value, cst.Name) or home is None:
        return False
    collects = home.params.star_kwarg
    if collects is None or collects.name.value != value.value:
        return False
    text, name = file.code[slice(*file.tree.span(home))], value.value
    if re.search(rf"^{name}\b[^\n=]*=(?!=)", file.code, re.MULTILINE) is not None:
        return False
    asks = rf"\b{name}(?:\.get\(\s*|\[)[\"']{key}[\"']"
    if re.search(asks, text) is None or re.search(_REPLACED.format(name, key), text) is not None:
        return False
    return any(
        isinstance(each, (cst.Call, cst.Subscript))
        and re.match(asks, file.tree.text(each)) is not None
        and file.flow.may_be_cuda(each)
        and not is_own_device(file, each)
        for each in descendants(home.body)
    )


_REPLACED = r"\b{0}(?:\.pop\(\s*[\"']{1}[\"']|\[[\"']{1}[\"']\]\s*=(?!=)|\.setdefault\(\s*[\"']{1})|\bdel\s+{0}\["


def _is_all_there(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a dictionary shows all that it holds: it takes in no other, and is not changed."""
    if not isinstance(value, cst.Name):
        return isinstance(value, (cst.Dict, cst.Call)) and "**" not in file.tree.text(value)
    bindings = file.scopes.of(value).lookup(value.value)
    texts = [file.tree.text(b.value) for b in bindings if b.value is not None]
    if len(texts) != len(bindings) or any("**" in text for text in texts):
        return False
    return re.search(_CHANGED.format(value.value), file.tree.source) is None


_CHANGED = r"(?<![\w.]){}(?:\[[^]]*\]\s*=(?!=)|\.(?:update|setdefault)\b|\s*\|=)"


def _holds_tensors_own(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a device is taken from a dictionary that got it from a tensor: ``{"device": x.device}``.

    One that is changed later may hold another.
    """
    match value:
        case cst.Subscript(
            value=cst.Name(value=name) as options,
            slice=[cst.SubscriptElement(slice=cst.Index(value=key))],
        ):
            pass
        case _:
            return False
    said = string_value(key)
    bindings = file.scopes.of(options).lookup(name)
    if said is None or any(b.kind != "value" for b in bindings):
        return False
    if re.search(_CHANGED.format(name), file.tree.source) is not None:
        return False
    found = _dictionary_values(file, options, said)
    return len(found) == len(bindings) > 0 and all(
        not file.flow.may_be_cuda(each) or is_own_device(file, each) for each in found
    )


def _is_cpus_arm(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a device is given in the arm of the question whether it is the CPU, or none: ``if get_device() == "meta":``."""
    if not isinstance(value, (cst.Name, cst.Attribute, cst.Call)):
        return False
    below: cst.CSTNode = value
    for parent in file.tree.ancestors(value):
        if isinstance(parent, cst.FunctionDef):
            return False
        if isinstance(parent, (cst.If, cst.IfExp)) and below is parent.body:
            asked, equal, word = file.tree.text(parent.test).partition("==")
            if equal and word.strip(" \"'") in ("cpu", "meta"):
                if asked.strip() == file.tree.text(value):
                    return True
        below = parent
    return False


def _map_location(file: File, value: cst.BaseExpression) -> bool:
    kinds = file.flow.kinds(value)
    if Kind.NONE in kinds:
        return not is_placed(file, value)
    if kinds & MAY_BE_CUDA:
        return not is_own_device(file, value) or _is_given_none(file, value)
    return _mentions_cuda(value)


def _is_given_none(file: File, value: cst.BaseExpression) -> bool:
    """Tell whether a function of the file is told no place by one that calls it there, whatever else it takes for one.

    ``map_location = None`` and then ``load(path, map_location=map_location)``: what was saved on CUDA would go back there.
    """
    python = file.python if isinstance(value, cst.Name) and "None" in file.code else None
    at = python.at(file.tree.span(value)) if python is not None else None
    if python is None or not isinstance(at, ast.Name):
        return False
    home = next((p for p in python.ancestors(at) if isinstance(p, _FUNCTIONS)), None)
    names = [each.arg for each in plain_parameters(home)] if home is not None else []
    if home is None or at.id not in names:
        return False
    # Of a method, who calls it gives the others.
    place = names.index(at.id) - (names[0] in ("self", "cls"))
    given = (argument_of(call, at.id, place) for call in python.calls.get(home.name, ()))
    return any(each is not None and _may_be_none(python, each) for each in given)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _may_be_none(python: PythonTree, given: ast.expr) -> bool:
    if isinstance(given, ast.IfExp):
        return _may_be_none(python, given.body) or _may_be_none(python, given.orelse)
    if not isinstance(given, ast.Name):
        return isinstance(given, ast.Constant) and given.value is None
    home = next((p for p in python.ancestors(given) if isinstance(p, _FUNCTIONS)), None)
    if home is not None and given.id in parameters(home):
        default = default_of(home, given.id)
        return isinstance(default, ast.Constant) and default.value is None
    return any(
        isinstance(each, ast.Assign)
        and isinstance(each.value, ast.Constant)
        and each.value.value is None
        and any(isinstance(t, ast.Name) and t.id == given.id for t in each.targets)
        for each in ast.walk(home or python.module)
    )


def _mentions_cuda(node: cst.CSTNode) -> bool:
    """Tell whether a literal (a dictionary of locations, a lambda) has a CUDA name inside."""
    if isinstance(node, cst.Dict):
        return any(
            isinstance(e, cst.DictElement) and (_mentions_cuda(e.value) or not _constant(e.value))
            for e in node.elements
        )
    if isinstance(node, cst.Lambda):
        found = False
        for child in descendants(node.body):
            if isinstance(child, cst.Attribute) and child.attr.value == "cuda":
                found = True
        return found
    text = string_value(node)
    return text is not None and text.startswith("cuda")


def _constant(node: cst.CSTNode) -> bool:
    return string_value(node) is not None


def _dictionary_values(file: File, node: cst.BaseExpression, key: str) -> list[cst.BaseExpression]:
    """Return the values under ``key`` in the dictionaries that ``**node`` may be."""
    literals: list[cst.BaseExpression] = [node]
    found: list[cst.BaseExpression] = []
    if isinstance(node, cst.Name):
        bindings = file.scopes.of(node).lookup(node.value)
        literals = [b.value for b in bindings if b.value is not None]
        found += _set_later(file, node, key)
    elif isinstance(node, cst.Attribute):
        literals = file.flow.self_values(node, node.attr.value)
    for literal in literals:
        if isinstance(literal, cst.Dict):
            for element in literal.elements:
                if isinstance(element, cst.DictElement) and string_value(element.key) == key:
                    found.append(element.value)
        elif (
            isinstance(literal, cst.Call)
            and isinstance(literal.func, cst.Name)
            and literal.func.value == "dict"
        ):
            for arg in literal.args:
                if arg.keyword is not None and arg.keyword.value == key:
                    found.append(arg.value)
    return found


def _set_later(file: File, options: cst.Name, key: str) -> list[cst.BaseExpression]:
    """Return what a function sets in its own dictionary after it was made: ``options["device"] = device``."""
    home = enclosing_function(file, options)
    if home is None or f'{options.value}["{key}"]' not in file.tree.text(home).replace("'", '"'):
        return []
    return [
        assigned.value
        for assigned in descendants(home.body)
        if isinstance(assigned, cst.Assign)
        for each in assigned.targets
        if file.tree.text(each.target).replace("'", '"') == f'{options.value}["{key}"]'
    ]
