"""Finds the places in which a function of torch's keeps its name: it is compared, put back, or asked for its cache."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.kernels import is_handle
from tdev_core.codemod.engine.rules.torch_names import is_in_cuda


def is_put_back(file: File, found: Reference) -> bool:
    """Tell whether a function is kept for later where something is put in its place, and that stays torch's.

    ``origin = torch.distributed.reduce_scatter_tensor``, which another vendor's arm replaces.
    """
    if not isinstance(file.tree.parents[found.node], cst.Assign):
        return False
    text = file.tree.text(found.node)
    places = [
        target.target
        for assign in file.tree.of(cst.Assign)
        for target in assign.targets
        if file.tree.text(target.target) == text
    ]
    return bool(places) and all(map(file.stays, places))


_CACHE = ("cache_clear", "cache_info")


def is_for_its_cache(file: File, found: Reference, rest: str) -> bool:
    """Tell whether a function is asked for its cache: ``f.cache_clear()``, ``hasattr(f, "cache_clear")``."""
    if rest:
        return rest[1:] in _CACHE
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) < 2 or call.args[0] is not parent:
        return False
    return string_value(call.args[1].value) in _CACHE


def is_loaded_again(file: File, found: Reference) -> bool:
    """Tell whether a module is loaded once more, ``importlib.reload(torch.cuda)``: it is torch's state that is made anew."""
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and (dotted(call.func) or "").rpartition(".")[2] == "reload"


def asks_for_a_private_name(file: File, found: Reference) -> bool:
    """Tell whether a module is asked for a name that starts with an underscore: ``getattr(torch.cuda, "_x")``."""
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) < 2 or call.args[0] is not parent:
        return False
    if not isinstance(call.func, cst.Name) or call.func.value not in ("getattr", "hasattr"):
        return False
    return (string_value(call.args[1].value) or "").startswith("_")


def asks_for_a_public_name(file: File, found: Reference) -> bool:
    """Tell whether all that is asked is whether this torch has a name: ``hasattr(torch.cuda.amp, "autocast")``.

    Or ``getattr(torch.cuda.amp, "autocast") is not None``.
    """
    if found.name != "torch" and found.name not in file.names.modules:
        return False
    parent = file.tree.parents[found.node]
    call = file.tree.parents[parent] if isinstance(parent, cst.Arg) else None
    if not isinstance(call, cst.Call) or len(call.args) < 2 or call.args[0] is not parent:
        return False
    if not isinstance(call.func, cst.Name) or call.func.value not in ("getattr", "hasattr"):
        return False
    if call.func.value == "getattr" and not _is_compared_with_none(file, call):
        return False
    return not (string_value(call.args[1].value) or "_").startswith("_")


def _is_compared_with_none(file: File, call: cst.Call) -> bool:
    match file.tree.parents[call]:
        case cst.Comparison(
            left=left,
            comparisons=[
                cst.ComparisonTarget(operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None"))
            ],
        ):
            return left is call
        case _:
            return False


def place_of_identity(file: File, found: Reference) -> str | None:
    """Tell where a function of torch's stands to be compared with what torch hands out, if it does.

    What belongs to CUDA is asked for by the program alone, which calls tdev's now.
    """
    last = found.name.rpartition(".")[2]
    if is_in_cuda(found.name) or not last.islower() or found.name in file.names.modules:
        return None
    parent = file.tree.parents[found.node]
    if isinstance(parent, cst.DictElement) and parent.key is found.node:
        return "is a key of a table"
    if isinstance(parent, cst.Element):
        several = file.tree.parents[parent]
        if isinstance(several, cst.Set):
            return "is one of a set"
        if isinstance(file.tree.parents[several], cst.ComparisonTarget):
            return "is one of those in a test"
    return None


def is_listed_beside_others(file: File, found: Reference) -> bool:
    """Tell whether a module stands in a list with that of another accelerator: ``[torch.cuda, torch.backends.mps]``."""
    listed = file.tree.parents[file.tree.parents[found.node]]
    of_cuda = found.name in file.names.modules and is_in_cuda(f"{found.name}.")
    if not of_cuda or not isinstance(listed, (cst.List, cst.Tuple, cst.Set)):
        return False
    names = (file.tree.text(each.value).rpartition(".")[2] for each in listed.elements)
    return not _BESIDE.isdisjoint(names)


def in_a_row_of_its_own(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name stands in CUDA's row of a table that has a row for another accelerator.

    Not where it is called as the table is made.
    """
    below: cst.CSTNode = node
    later = not isinstance(file.tree.parents[node], cst.Call)
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Lambda):
            later = True
        if isinstance(parent, cst.DictElement) and below is parent.value and later:
            table = file.tree.parents[parent]
            assert isinstance(table, cst.Dict)
            keys = {string_value(e.key) for e in table.elements if isinstance(e, cst.DictElement)}
            return string_value(parent.key) == "cuda" and not _BESIDE.isdisjoint(keys)
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


_BESIDE = frozenset({"mps", "xpu", "npu", "hpu", "mlu", "musa", "mtia", "xla"})


def is_asked_for_a_handle(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a call is made for CUDA's own handle: ``torch.cuda.current_stream(d).cuda_stream``."""
    called = file.tree.parents[node]
    handle = file.tree.parents.get(called)
    return isinstance(called, cst.Call) and isinstance(handle, cst.Attribute) and is_handle(handle)
