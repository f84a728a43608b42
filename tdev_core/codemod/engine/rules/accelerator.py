"""``--target accelerator``: upstream's generic APIs, as far as this torch has them."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.arguments import Call
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.resolve import Reference
from tdev_core.codemod.engine.rules.accelerator_literals import (
    ACCELERATOR,
    GAP,
    literal,
    move,
    nccl,
)
from tdev_core.codemod.engine.rules.arms import ARMS, decides_beside_other_arms
from tdev_core.codemod.engine.rules.references import _call_of, _chain
from tdev_core.codemod.engine.tree import children, dotted

_ADVICE = {
    "torch.cuda.manual_seed": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.manual_seed_all": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.amp.autocast": "use torch.autocast(device.type) of the device at hand",
    "torch.cuda.amp.GradScaler": "use torch.amp.GradScaler(device.type) of the device at hand",
}
# What takes a stream of CUDA's own class, or its handle.
_STREAM_USERS = re.compile(
    r"cuda_stream|CUDAGraph|cuda\.graph\b|ExternalStream|default_stream|StreamContext|"
    r"make_graphed_callables|record_event|get_stream_from_external"
)
_SAYS_CUDA = re.compile(r"(?<![.\w])cuda(?!\.?\w)", re.IGNORECASE)
_STREAMS = ("torch.cuda.Stream", "torch.cuda.Event")


def accelerator(file: File) -> None:
    done, streams_stay = _streams(file)
    _from_imports(file)
    seen: set[cst.CSTNode] = set()
    for name in file.tree.of(cst.Name):
        chain = _chain(file, name) if name.value in file.resolver.roots else None
        if chain is None or chain in seen:
            continue
        seen.add(chain)
        found = file.resolver.reference(chain)
        if found is not None and not file.kept(chain) and chain not in done:
            _reference(file, found, streams_stay)
    for node in file.tree.of(cst.Call):
        if not file.kept(node):
            move(file, node)
            nccl(file, node)
    for node in file.tree.of(cst.SimpleString, cst.FormattedString, cst.BinaryOperation, cst.Call):
        if file.flow.names_cuda(node) and not file.kept(node):
            literal(file, node)


# -- references -----------------------------------------------------------------------------


def _reference(file: File, found: Reference, streams_stay: bool) -> None:
    if not found.name.startswith("torch.cuda"):
        return
    if found.name == "torch.cuda":
        parent = file.tree.parents[found.node]
        if not isinstance(parent, (cst.ImportAlias, cst.ImportFrom)):
            file.find(GAP, found.node, "torch.cuda itself, as a module")
        return
    known = _known(found.name, file)
    if known is None:
        advice = _ADVICE.get(found.name, "it has no generic equivalent in torch 2.13")
        file.find(GAP, found.node, f"{found.name}: {advice}")
        return
    if found.target != "torch":
        if found.target == "torch.cuda" or found.target not in _rewritable(file, found):
            file.find(GAP, found.node, f"{found.name} is imported from torch.cuda")
        return
    if known in ("torch.cuda.is_available", "torch.cuda.device_count"):
        if decides_beside_other_arms(file, found.node):
            file.find(ARMS, found.node, f"{known} chooses between backends; left as it is")
            return
        if _asserts_cuda(file, found.node):
            file.find(GAP, found.node, "an assertion that says it is about CUDA; left as it is")
            return
        if _guards_a_gap(file, found.node):
            file.find(GAP, found.node, f"{known} guards names that only CUDA has; left as it is")
            return
    if known in _STREAMS and streams_stay:
        file.find(GAP, found.node, f"{known} is used with torch.cuda.stream in this file")
        return
    generic = file.names.accelerator[known]
    call = _call_of(file, found.node)
    parent = file.tree.parents[found.node]
    if call is not None and isinstance(parent, cst.Call):
        if not _arguments(file, parent, call, known):
            return
    node: cst.BaseExpression = found.node
    for _ in range(found.name.count(".") - known.count(".")):
        assert isinstance(node, cst.Attribute)
        node = node.value
    text = found.root.value + generic.name[len("torch") :]
    file.replace_node(ACCELERATOR, node, text)


def _known(name: str, file: File) -> str | None:
    while name.count(".") >= 2:
        if name in file.names.accelerator:
            return name
        name = name.rpartition(".")[0]
    return None


def _guards_a_gap(file: File, node: cst.CSTNode) -> bool:
    """Whether the answer decides about a ``torch.cuda`` name that has to stay.

    Said to be there on every accelerator, CUDA would be asked for where there is none. The answer
    decides about the arm or the operand behind it, and, kept in a variable, about its whole function.
    """
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)):
            return below is parent.test and _has_gap(file, parent)
        if isinstance(parent, cst.BooleanOperation) and _has_gap(file, parent):
            return True
        if isinstance(parent, (cst.Assign, cst.AnnAssign, cst.NamedExpr, cst.Return)):
            home = next(
                (p for p in file.tree.ancestors(parent) if isinstance(p, cst.FunctionDef)),
                file.tree.module,
            )
            return _has_gap(file, home)
        below = parent
    return False


def _asserts_cuda(file: File, node: cst.CSTNode) -> bool:
    """Whether this is the test of an assertion whose message would be wrong of another accelerator."""
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Assert):
            said = file.tree.text(parent.msg) if parent.msg is not None else ""
            return below is parent.test and _SAYS_CUDA.search(said) is not None
        if isinstance(parent, cst.BaseSmallStatement):
            return False
        below = parent
    return False


def _has_gap(file: File, node: cst.CSTNode) -> bool:
    """Whether a call below ``node`` is of a ``torch.cuda`` name without a generic equivalent."""
    stack = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, cst.Call):
            name = file.resolver.torch_name(current.func) or ""
            if name.startswith("torch.cuda.") and _known(name, file) is None:
                # Seeding is harmless where there is no CUDA; streams are looked at by themselves.
                if name not in _ADVICE and name != "torch.cuda.stream":
                    return True
        stack.extend(children(current))
    return False


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
    return {
        b.target or ""
        for b in found.bindings
        if b.statement is not None
        and isinstance(b.statement, cst.ImportFrom)
        and _same_names(file, b.statement)
    }


def _same_names(file: File, statement: cst.ImportFrom) -> bool:
    """Whether all names of ``from torch.cuda import …`` are in torch.accelerator as well."""
    if statement.module is None or isinstance(statement.names, cst.ImportStar):
        return False
    if dotted(statement.module) != "torch.cuda" or statement.relative:
        return False
    for alias in statement.names:
        generic = file.names.accelerator.get(f"torch.cuda.{dotted(alias.name)}")
        if generic is None or generic.name != f"torch.accelerator.{dotted(alias.name)}":
            return False
    return True


def _from_imports(file: File) -> None:
    for node in file.tree.of(cst.ImportFrom):
        if node.module is None or node.relative or file.kept(node):
            continue
        name = dotted(node.module) or ""
        if _same_names(file, node):
            file.replace_node(ACCELERATOR, node.module, "torch.accelerator")
        elif (name + ".").startswith("torch.cuda."):
            file.find(GAP, node, f"names imported from {name}")
        elif name == "torch" and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                if dotted(alias.name) == "cuda":
                    file.find(GAP, node, "torch.cuda imported as a module")


def _streams(file: File) -> tuple[set[cst.CSTNode], bool]:
    """Rewrite ``with torch.cuda.stream(s)``: the references done, and whether one has to stay."""
    stay = _STREAM_USERS.search(file.tree.source) is not None
    todo = []
    for node in file.tree.of(cst.Call):
        found = file.resolver.reference(node.func)
        if found is None or found.name != "torch.cuda.stream":
            continue
        parent = file.tree.parents[node]
        if isinstance(parent, cst.WithItem) and len(node.args) == 1 and not file.kept(node):
            if _is_stream(file, node.args[0].value):
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
