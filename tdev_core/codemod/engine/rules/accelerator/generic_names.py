"""Rewrites names of ``torch.cuda`` to upstream's generic ones, as far as this torch has them."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import dotted, string_value
from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.accelerator.guards import (
    ADVICE,
    QUIET,
    known,
    needs_an_accelerator,
)
from tdev_core.codemod.engine.rules.accelerator.handed_streams import handed_out
from tdev_core.codemod.engine.rules.accelerator.literals import literal, move
from tdev_core.codemod.engine.rules.accelerator.reported import OWN_BACKEND, nccl, tensor_type
from tdev_core.codemod.engine.rules.accelerator.rules import ACCELERATOR, GAP
from tdev_core.codemod.engine.rules.arguments import Call
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.backend_questions import AVAILABILITY, chooses_between_backends
from tdev_core.codemod.engine.rules.torch_names import call_of, every_reference
from tdev_core.codemod.engine.rules.torchscript import left_to_script

# What takes a stream of CUDA's own class, or its handle.
_STREAM_USERS = re.compile(
    r"cuda_stream|CUDAGraph|cuda\.graph\b|ExternalStream|default_stream|StreamContext|"
    r"make_graphed_callables|record_event|get_stream_from_external"
)
_STREAMS = frozenset(
    f"torch.cuda.{name}" for name in ("Stream", "Event", "current_stream", "set_stream")
)


def accelerator(file: File) -> None:
    references = [f for f in every_reference(file) if not file.kept(f.node)]
    done, streams_stay = _streams(file, handed_out(file, references, _STREAMS))
    _from_imports(file)
    found = [f for f in references if f.node not in done]
    chosen = chooses_between_backends(file, found)
    for node in file.tree.of(cst.SimpleString, cst.FormattedString, cst.BinaryOperation, cst.Call):
        if file.flow.names_cuda(node) and not file.kept(node):
            literal(file, node)
    for reference in found:
        _reference(file, reference, streams_stay, chosen)
    for node in file.tree.of(cst.Call):
        if not file.kept(node):
            move(file, node)
    for string in file.tree.of(cst.SimpleString):
        if not file.kept(string):
            nccl(file, string)
            tensor_type(file, string)


# -- references -----------------------------------------------------------------------------


def _reference(
    file: File, found: Reference, streams_stay: bool, chosen: dict[cst.CSTNode, str]
) -> None:
    if not found.name.startswith("torch.cuda"):
        if found.name.endswith(".Backend.NCCL"):
            file.find(GAP, found.node, OWN_BACKEND)
        return
    if found.name == "torch.cuda":
        parent = file.tree.parents[found.node]
        if not isinstance(parent, (cst.ImportAlias, cst.ImportFrom)):
            file.find(GAP, found.node, "torch.cuda itself, as a module")
        return
    name = known(found.name, file)
    if name is None:
        file.find(GAP, found.node, f"{found.name}: {_advice(found.name)}")
        return
    if found.target != "torch":
        if found.target == "torch.cuda" or found.target not in _rewritable(file, found):
            file.find(GAP, found.node, f"{found.name} is imported from torch.cuda")
        return
    if _is_replaced(file, found.node):
        file.find(GAP, found.node, f"{found.name} is given another meaning here; left as it is")
        return
    if (attribute := _attribute_of(file, found)) is not None:
        file.find(GAP, found.node, f"{found.name} has {attribute}, which the generic one has not")
        return
    if name in AVAILABILITY:
        if found.node in chosen:
            file.find(ARMS, found.node, chosen[found.node])
            return
        if (why := _setting(file, found.node, name)) is not None:
            file.find(GAP, found.node, f"{name} {why}")
            return
    if name in _STREAMS and streams_stay:
        file.find(GAP, found.node, f"{name} goes, or may go, to what wants CUDA's own class")
        return
    if name in QUIET and not needs_an_accelerator(file, found.node):
        generic_name = file.names.accelerator[name].name
        file.find(
            GAP, found.node, f"{generic_name} raises where there is no accelerator: ask first"
        )
        return
    if left_to_script(file, found.node, name):
        return
    generic = file.names.accelerator[name]
    call = call_of(file, found.node)
    parent = file.tree.parents[found.node]
    if call is not None and isinstance(parent, cst.Call):
        if not _arguments(file, parent, call, name):
            return
    node: cst.BaseExpression = found.node
    for _ in range(found.name.count(".") - name.count(".")):
        assert isinstance(node, cst.Attribute)
        node = node.value
    text = found.root.value + generic.name[len("torch") :]
    file.replace_node(ACCELERATOR, node, text)


def _attribute_of(file: File, found: Reference) -> str | None:
    """Return what is asked of a function itself: ``f.cache_clear()``, ``hasattr(f, "cache_clear")``."""
    parent = file.tree.parents[found.node]
    if found.name.rpartition(".")[2][:1].isupper():
        return None
    attribute: str | None = None
    if isinstance(parent, cst.Attribute):
        attribute = parent.attr.value
    elif isinstance(parent, cst.Arg):
        call = file.tree.parents[parent]
        if isinstance(call, cst.Call) and len(call.args) > 1 and call.args[0] is parent:
            if dotted(call.func) in ("hasattr", "getattr"):
                attribute = string_value(call.args[1].value)
    return None if attribute is None or attribute.startswith("__") else attribute


def _setting(file: File, node: cst.CSTNode, name: str) -> str | None:
    """Say that a count is a setting of another program's, which may know CUDA's devices alone."""
    call = file.tree.parents[node]
    entry = file.tree.parents.get(call)
    if name != "torch.cuda.device_count":
        return None
    key = None
    if isinstance(entry, cst.DictElement) and entry.value is call:
        key = string_value(entry.key)
    elif isinstance(entry, cst.Assign) and isinstance(entry.targets[0].target, cst.Subscript):
        index = entry.targets[0].target.slice[0].slice
        key = string_value(index.value) if isinstance(index, cst.Index) else None
    if key is None or _SETTING.match(key) is None:
        return None
    return f"is the setting {key!r}, which another program reads"


# A key in the spelling of JSON, as no program in Python spells its own.
_SETTING = re.compile(r"[a-z]+(?:[A-Z][a-z0-9]*)+\Z")


def _is_replaced(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name of torch's is assigned to, or deleted: ``torch.cuda.synchronize = …``."""
    parent = file.tree.parents[node]
    return (
        isinstance(parent, (cst.AssignTarget, cst.Del))
        or isinstance(parent, (cst.AnnAssign, cst.AugAssign))
        and parent.target is node
    )


def _advice(name: str) -> str:
    if name in ADVICE:
        return ADVICE[name]
    if name.endswith("Tensor"):
        return "give torch.tensor, torch.empty or .to() the device and the dtype"
    return "it has no generic equivalent in torch 2.13"


def _arguments(file: File, node: cst.Call, call: Call, name: str) -> bool:
    """Fit the arguments to the generic function; False (and a finding) where that fails."""
    generic = file.names.accelerator[name]
    positional = 0
    for arg in call.args:
        if arg.star:
            file.find(GAP, node, f"{name} with unpacked arguments")
            return False
        if arg.keyword is None:
            positional += 1
            continue
        theirs = generic.parameters.get(arg.keyword.value)
        if theirs is None:
            file.find(GAP, node, f"{generic.name} takes no {arg.keyword.value}")
            return False
        if theirs.startswith("/") and len(call.args) > 1:
            file.find(GAP, node, f"{generic.name} takes {arg.keyword.value} by position only")
            return False
    if positional > len(generic.order):
        file.find(GAP, node, f"{generic.name} does not take these positional arguments")
        return False
    for arg in call.args:
        if arg.keyword is not None:
            theirs = generic.parameters[arg.keyword.value] or ""
            start, _ = file.tree.span(arg)
            if theirs.startswith("/"):
                file.replace(ACCELERATOR, start, file.tree.outer_span(arg.value)[0], "")
            elif theirs != arg.keyword.value:
                file.replace_node(ACCELERATOR, arg.keyword, theirs)
    return True


def _rewritable(file: File, found: Reference) -> set[str]:
    if not _from_cuda(file):
        return set()
    return {
        b.target or ""
        for b in found.bindings
        if b.statement is not None
        and isinstance(b.statement, cst.ImportFrom)
        and _same_names(file, b.statement)
    }


def _same_names(file: File, statement: cst.ImportFrom) -> bool:
    """Tell whether all names of ``from torch.cuda import …`` are in torch.accelerator as well."""
    if statement.module is None or isinstance(statement.names, cst.ImportStar):
        return False
    if dotted(statement.module) != "torch.cuda" or statement.relative:
        return False
    for alias in statement.names:
        generic = file.names.accelerator.get(f"torch.cuda.{dotted(alias.name)}")
        if generic is None or generic.name != f"torch.accelerator.{dotted(alias.name)}":
            return False
    # A question of this name is one for all its uses, and what one of them guards may stay CUDA's.
    asks = any(f"torch.cuda.{dotted(alias.name)}" in AVAILABILITY for alias in statement.names)
    return not asks or _SAYS_CUDA.search(file.tree.source) is None


_SAYS_CUDA = re.compile(r"[\"']cuda\b|\)\.cuda\(|(?<!from torch)(?<!import torch)\.cuda\b")


def _from_imports(file: File) -> None:
    together = _from_cuda(file)
    for node in file.tree.of(cst.ImportFrom):
        if node.module is None or node.relative or file.kept(node):
            continue
        name = dotted(node.module) or ""
        if together and _same_names(file, node):
            file.replace_node(ACCELERATOR, node.module, "torch.accelerator")
        elif (name + ".").startswith("torch.cuda."):
            file.find(GAP, node, f"names imported from {name}")
        elif name == "torch" and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if dotted(alias.name) == "cuda":
                    file.find(GAP, node, "torch.cuda imported as a module")


def _from_cuda(file: File) -> bool:
    """Tell whether all that a file imports from torch.cuda has the same name in torch.accelerator, and is called so."""
    nodes = [
        n for n in file.tree.of(cst.ImportFrom) if n.module and dotted(n.module) == "torch.cuda"
    ]
    names = [
        a.evaluated_alias or "" for n in nodes for a in n.names if isinstance(a, cst.ImportAlias)
    ]
    return all(_same_names(file, n) for n in nodes) and not any("cuda" in n.lower() for n in names)


def _streams(file: File, leaves: bool) -> tuple[set[cst.CSTNode], bool]:
    """Rewrite ``with torch.cuda.stream(s)``: the references done, and whether one has to stay."""
    stay = leaves or _STREAM_USERS.search(file.tree.source) is not None
    todo = []
    for node in file.tree.of(cst.Call):
        found = file.resolver.reference(node.func)
        if found is None or found.name != "torch.cuda.stream":
            continue
        parent = file.tree.parents[node]
        if isinstance(parent, cst.WithItem) and len(node.args) == 1 and not file.kept(node):
            if _is_stream(file, node.args[0].value) and not file.scripted.holds(node):
                todo.append(node)
                continue
        stay = True
    if stay:
        return set(), True
    for node in todo:
        inner = file.tree.span(node.args[0].value)
        file.wrap(ACCELERATOR, file.tree.span(node), "", inner, "")
    return {node.func for node in todo}, False


def _is_stream(file: File, node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.Name):
        return False
    bindings = file.scopes.of(node).lookup(node.value)
    return bool(bindings) and all(
        isinstance(b.value, cst.Call)
        and file.resolver.torch_name(b.value.func) in ("torch.cuda.Stream", "torch.Stream")
        for b in bindings
    )
