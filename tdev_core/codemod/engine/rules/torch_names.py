"""Finds the names of torch that a file uses, and the calls that they stand in."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.api import Names
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arguments import Call


def every_reference(file: File) -> list[Reference]:
    """Return the references to torch or tdev in a file."""
    seen: set[cst.CSTNode] = set()
    references = []
    for name in file.tree.of(cst.Name):
        chain = _chain(file, name) if name.value in file.resolver.roots else None
        if chain is None or chain in seen:
            continue
        seen.add(chain)
        found = file.resolver.reference(chain)
        if found is not None:
            references.append(found)
    return references


def _chain(file: File, name: cst.Name) -> cst.BaseExpression | None:
    """Return the whole attribute chain that starts at ``name``; None if it is no reference."""
    parents = file.tree.parents
    parent = parents[name]
    if isinstance(parent, cst.Attribute) and parent.attr is name:
        return None
    if isinstance(parent, cst.Arg) and parent.keyword is name:
        return None
    if isinstance(parent, cst.AnnAssign) and parent.target is name:
        return None  # a field that is called so
    if isinstance(
        parent,
        (
            cst.ImportAlias,
            cst.AsName,
            cst.Param,
            cst.FunctionDef,
            cst.ClassDef,
            cst.NameItem,
            cst.ImportFrom,
            cst.AssignTarget,
            cst.Del,
            cst.MatchKeywordElement,
        ),
    ):
        if isinstance(parent, cst.Param) and parent.name is not name:
            pass
        elif isinstance(parent, (cst.FunctionDef, cst.ClassDef)) and parent.name is not name:
            pass
        else:
            return None
    node: cst.BaseExpression = name
    while isinstance(parent, cst.Attribute) and parent.value is node:
        node, parent = parent, parents[parent]
    top = parents[node]
    while isinstance(top, cst.Attribute):
        top = parents[top]
    return None if isinstance(top, (cst.ImportAlias, cst.ImportFrom)) else node


def is_in_cuda(name: str) -> bool:
    return (name + ".").startswith("torch.cuda.")


def whole_question(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the call of a question, with the number, or the truth, that its answer is compared with."""
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Call) and parent.func is node:
        node = parent
    outer = file.tree.parents[node]
    if not isinstance(outer, cst.Comparison) or outer.left is not node:
        return node
    with_what = outer.comparisons[0].comparator
    is_truth = isinstance(with_what, cst.Name) and with_what.value in ("True", "False")
    return outer if is_truth or isinstance(with_what, cst.Integer) else node


def routed_prefix(name: str, names: Names) -> str | None:
    """Return the longest prefix of ``name`` that is routed.

    A module may be called as the function in it, ``torch.nn.parallel.data_parallel``: what it has besides is torch's own,
    but for what it takes from its siblings.
    """
    prefix = name
    while prefix and prefix not in names.routed:
        prefix = prefix.rpartition(".")[0]
    if prefix in names.modules and not is_in_cuda(prefix):
        home, _, last = prefix.rpartition(".")
        more = name[len(prefix) + 1 :].partition(".")[0]
        taken = any(
            each.startswith(f"{home}.") and each.rpartition(".")[2] == more
            for each in names.routed | names.modules
        )
        return prefix if taken or more in ("", last) else None
    return prefix or None


def call_of(file: File, node: cst.CSTNode) -> Call | None:
    """Return the call whose function is ``node``, or which ``functools.partial`` will make of it."""
    parent = file.tree.parents[node]
    if isinstance(parent, cst.Call) and parent.func is node:
        return Call(tuple(parent.args))
    if isinstance(parent, cst.Arg) and parent.keyword is None:
        outer = file.tree.parents[parent]
        if isinstance(outer, cst.Call) and is_partial(outer) and outer.args[0] is parent:
            return Call(tuple(outer.args[1:]))
    return None


def is_partial(call: cst.Call) -> bool:
    """Tell whether a call is ``functools.partial(function, …)``."""
    last = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return isinstance(last, cst.Name) and last.value == "partial" and bool(call.args)
