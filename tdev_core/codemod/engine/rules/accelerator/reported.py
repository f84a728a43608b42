"""Reports what no generic spelling says the same."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.literals import NAMES_DEVICE, TENSOR_TYPE, is_device_word
from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules.accelerator.rules import GAP

IN_A_DICTIONARY = "in a dictionary"
UNGUARDED = "with nothing that says it is available"


def nccl(file: File, node: cst.SimpleString) -> None:
    """``"nccl"``, wherever a backend is chosen or asked for, and ``"cpu:gloo,cuda:nccl"``."""
    if _NCCL.search(string_value(node) or "") is None:
        return
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Element):
        listed = file.tree.parents[file.tree.parents[parent]]
        parent = listed if isinstance(listed, cst.ComparisonTarget) else parent
    if isinstance(parent, (cst.Comparison, cst.ComparisonTarget)):
        asked = parent if isinstance(parent, cst.Comparison) else file.tree.parents[parent]
        file.find(GAP, parent, '"nccl" is the backend of CUDA; other accelerators have another')
        if isinstance(asked, cst.Comparison):
            no = isinstance(asked.comparisons[0].operator, (cst.NotEqual, cst.NotIn))
            file.questions.append(Question(asked, not no, node, GAP))
    elif isinstance(parent, cst.Arg):
        call = file.tree.parents[parent]
        name = (file.resolver.torch_name(call.func) or "") if isinstance(call, cst.Call) else ""
        where = call if name.startswith("torch.distributed.") else node
        file.find(GAP, where, OWN_BACKEND)
    elif isinstance(parent, cst.Element):
        file.find(GAP, node, f"{OWN_BACKEND}; those of others are not in this list", "note")
    elif isinstance(parent, VALUE_POSITIONS):
        file.find(GAP, node, OWN_BACKEND)
    elif isinstance(parent, cst.DictElement) and parent.value is node:
        file.find(GAP, node, OWN_BACKEND)


_NCCL = re.compile(r"\A(?:\w+:\w+,)*(?:cuda:)?nccl(?:,\w+:\w+)*\Z")
OWN_BACKEND = "without the backend, torch picks the accelerator's own"


VALUE_POSITIONS = (
    cst.Assign,
    cst.AnnAssign,
    cst.Param,
    cst.IfExp,
    cst.BooleanOperation,
    cst.Return,
)


def tensor_type(file: File, node: cst.SimpleString) -> None:
    """``x.type("torch.cuda.FloatTensor")``: the type has another name on another accelerator."""
    if "torch.cuda." in node.value and TENSOR_TYPE.match(string_value(node) or ""):
        if isinstance(file.tree.parents[node], cst.Arg):
            file.find(GAP, node, "names a tensor type of CUDA; say .to() with device and dtype")


DEVICE = re.compile(r"device|map_location")


def report(file: File, node: cst.BaseExpression, parent: cst.CSTNode) -> None:
    """List a string that names CUDA as a device and stays, where a person has to see to it."""
    text = file.tree.text(node)
    if isinstance(parent, VALUE_POSITIONS):
        # One with an index is a device, whatever it is kept in.
        if string_value(node) != "cuda" or _holds_device(file, node, parent):
            file.find(GAP, node, f"{text} {UNGUARDED}")
    elif isinstance(parent, cst.DictElement):
        key = string_value(parent.key) or ""
        if parent.value is node and (DEVICE.search(key) or string_value(node) is None):
            file.find(GAP, node, f"{text} {IN_A_DICTIONARY}", "note")
    elif isinstance(parent, cst.Element):
        whole = file.tree.parents[parent]
        if isinstance(whole, cst.Tuple) and isinstance(file.tree.parents[whole], cst.Return):
            file.find(GAP, node, f"{text} {UNGUARDED}")
        elif _of_devices(file, parent):
            file.find(GAP, node, f"{text} in a list; other accelerators are not in it", "note")
    elif isinstance(parent, cst.Arg):
        call = file.tree.parents[parent]
        if not isinstance(call, cst.Call):
            return
        if parent.keyword is not None:
            if parent.keyword.value == "default" and _device_option(call):
                file.find(GAP, node, f"{text} as the default of an option")
            elif string_value(node) != "cuda" and not is_device_word(parent.keyword):
                file.find(GAP, node, f"{text} is handed on as {parent.keyword.value}", "note")
            return  # others that say `device` are listed by the rule `device-literal`
        name = dotted(call.func) or "a call"
        if name.rpartition(".")[2].startswith("assert"):
            said = f"{text} is what {name} expects"
            file.questions.append(Question(call, True, node, GAP, said))
        elif name.rpartition(".")[2] in _ASKS_WITH_DEFAULT and call.args[-1] is parent:
            asked = " ".join(string_value(a.value) or "" for a in call.args[:-1])
            if DEVICE.search(asked.lower()):
                file.find(GAP, node, f"{text} as the default of {asked.strip()}")
        elif name.rpartition(".")[2] not in _TAKES_TEXT:
            file.find(GAP, node, f"{text} is handed to {name}", "note")
    elif string_value(node) != "cuda" and isinstance(parent, _VALUES_BESIDES):
        file.find(GAP, node, f"{text} {UNGUARDED}")


# Where an expression is a value, beside the places that have rules of their own.
_VALUES_BESIDES = (
    cst.ListComp,
    cst.SetComp,
    cst.GeneratorExp,
    cst.DictComp,
    cst.Lambda,
    cst.NamedExpr,
    cst.Yield,
    cst.WithItem,
)


def _of_devices(file: File, element: cst.Element) -> bool:
    """Tell whether a list holds the names of devices, for something other than a comparison."""
    whole = file.tree.parents[element]
    if isinstance(file.tree.parents[whole], cst.ComparisonTarget):
        return False
    values = [string_value(e.value) for e in getattr(whole, "elements", ())]
    return all(v is None or NAMES_DEVICE.match(v) for v in values)


_ASKS_WITH_DEFAULT = frozenset({"get", "getattr", "getenv", "pop", "setdefault"})
# Methods and functions to which "cuda" is a piece of text, a key or a message.
_TAKES_TEXT = frozenset(
    "print str repr format get pop setdefault split rsplit partition replace startswith endswith "
    "strip lstrip rstrip removeprefix removesuffix join index find count getattr hasattr setattr "
    "delattr import_module info debug warning warn error add_argument update type match search "
    "fullmatch sub findall compile getenv log add_tag field".split()
)


def _holds_device(file: File, node: cst.CSTNode, parent: cst.CSTNode) -> bool:
    if isinstance(parent, cst.Assign):
        return any(is_device_word(t.target) for t in parent.targets)
    if isinstance(parent, cst.AnnAssign):
        return is_device_word(parent.target)
    if isinstance(parent, cst.Param):
        return parent.default is node and is_device_word(parent.name)
    if isinstance(parent, cst.BooleanOperation):
        return isinstance(parent.operator, cst.Or) and parent.right is node
    return not isinstance(parent, cst.IfExp) or parent.test is not node


def _device_option(call: cst.Call) -> bool:
    return any("device" in (string_value(a.value) or "") for a in call.args if a.keyword is None)
