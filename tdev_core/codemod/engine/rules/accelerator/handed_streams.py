"""Tells whether a stream or an event stays among torch's own, which take the generic classes.

``comm.broadcast(w, stream=torch.cuda.current_stream())`` gives it to code that may ask for its
``cuda_stream``, which ``torch.Stream`` does not have, on CUDA either. So does an attribute that anybody
reads, and what a function returns.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File

# What both classes of streams, and both of events, have, and the methods of torch's that take one.
_OWN = frozenset(
    "query synchronize wait_event wait_stream record_event record wait elapsed_time device "
    "device_index device_type event_id".split()
)
_TAKERS = frozenset(
    {"wait_stream", "wait_event", "record", "wait", "record_stream", "elapsed_time"}
)


def handed_out(file: File, references: Iterable[Reference], names: frozenset[str]) -> bool:
    """Tell whether one of these objects goes where it cannot be followed: to other code, an attribute, out."""
    for reference in references:
        if reference.name not in names:
            continue
        node = reference.node
        parent = file.tree.parents[node]
        if reference.name == "torch.cuda.set_stream":
            if _takes_anothers(file, parent):
                return True
            continue
        if not isinstance(parent, cst.Call) or parent.func is not node:
            if not isinstance(parent, (cst.Annotation, cst.Param)):
                return True  # handed on as a class or a function
        elif _leaves(file, parent):
            return True
    return False


def _takes_anothers(file: File, call: cst.CSTNode) -> bool:
    """Tell whether ``set_stream`` is given what this file does not show to be torch's: ``context.stream``."""
    if not isinstance(call, cst.Call) or len(call.args) != 1:
        return True
    given = call.args[0].value
    if isinstance(given, cst.Name):
        return any(b.value is None for b in file.scopes.of(given).lookup(given.value))
    return not isinstance(given, cst.Call) or file.resolver.torch_name(given.func) is None


def _leaves(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the value of an expression gets out of sight."""
    parent = file.tree.parents[node]
    match parent:
        case cst.Expr() | cst.WithItem():
            return False
        case cst.Attribute():
            return parent.attr.value not in _OWN
        case cst.Comparison() | cst.ComparisonTarget() | cst.If():
            return False
        case cst.IfExp() | cst.BooleanOperation():
            return _leaves(file, parent)
        case cst.Arg():
            call = file.tree.parents[parent]
            return not isinstance(call, cst.Call) or not _is_torchs(file, call)
        case cst.Assign():
            targets = [target.target for target in parent.targets]
            if len(targets) != 1 or not isinstance(targets[0], cst.Name):
                return True
            return _name_leaves(file, targets[0])
        case _:
            return True


def _is_torchs(file: File, call: cst.Call) -> bool:
    if (file.resolver.torch_name(call.func) or "").startswith("torch.cuda."):
        return True
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _TAKERS


_USE = re.compile(rf"\s*\.\s*(?:{'|'.join(sorted(_OWN))})\b|\s*=(?!=)|\s*(?:==|!=|is\b|:|\bif\b)")
_GIVEN = re.compile(
    rf"(?:cuda\.stream|cuda\.set_stream|{'|'.join(sorted(_TAKERS))})\(\s*\Z|with\s+\Z|\b(?:if|is|not|and)\s+\Z"
)


def _name_leaves(file: File, name: cst.Name) -> bool:
    """Tell whether a variable is used for anything but a stream's or an event's own methods.

    Its text is read: a use of no concern to a rule is not in the tree.
    """
    scope = file.scopes.of(name)
    home = scope.node
    low, high = (0, len(file.tree.source)) if scope.parent is None else file.tree.span(home)
    source = file.tree.source
    for found in re.finditer(rf"(?<![\w.]){re.escape(name.value)}(?!\w)", source[low:high]):
        start, end = low + found.start(), low + found.end()
        line = source.rfind("\n", 0, start) + 1
        if "#" in source[line:start]:
            continue
        if not _USE.match(source, end) and not _GIVEN.search(source[max(line, start - 80) : start]):
            return True
    return False
