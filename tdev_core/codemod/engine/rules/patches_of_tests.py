"""Lets a test that stays follow the code that it tests in what it puts in the place of torch's own, and in nothing else."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.rules.strings import (
    STRINGS,
    TARGET,
    is_a_patch,
    reached_through_tdev,
)


def patches_alone(file: File) -> None:
    """Leave all but the targets of patches, and what the same function asks of a name that it patches."""
    patched: dict[cst.CSTNode | None, set[str]] = {}
    open_: list[Span] = []
    for call in file.tree.of(cst.Call):
        if is_a_patch(call):
            given = call.args[:2]
            open_.append((file.tree.span(given[0].value)[0], file.tree.span(given[-1].value)[1]))
            patched.setdefault(_home(file, call), set()).update(_named(file, call))
    for target in file.tree.of(cst.AssignTarget):  # `torch.cuda.is_available = lambda: True`
        if not isinstance(target.target, cst.Attribute):
            continue  # a variable's name resolves to what it holds: `dtype = torch.float16`
        name = file.resolver.torch_name(target.target)
        if name is not None and reached_through_tdev(file, name):
            patched.setdefault(_home(file, target), set()).add(name)
    everywhere = patched.get(None, set())
    for node in file.tree.of(cst.Attribute) if any(patched.values()) else ():
        names = everywhere | patched.get(_home(file, node), set())
        if names and (found := file.resolver.reference(node)) is not None and found.name in names:
            file.use(STRINGS, found)
    at = 0
    for start, end in sorted(open_):
        if start > at:
            file.untouched.append((at, start))
        at = max(at, end)
    file.untouched.append((at, len(file.tree.source) + 1))


def _home(file: File, node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the function around a node, or that which it decorates."""
    for each in file.tree.ancestors(node):
        if isinstance(each, cst.Decorator):
            return file.tree.parents[each]
    return enclosing_function(file, node)


def _named(file: File, call: cst.Call) -> set[str]:
    """Return the names of torch's that a patch is of, where tdev has its own."""
    first = call.args[0].value
    if (text := string_value(first)) is not None:
        target = TARGET.match(text)
        names = {target[2]} if target is not None else set()
    else:
        owner = file.resolver.torch_name(first)
        named = string_value(call.args[1].value) if len(call.args) > 1 else None
        names = {f"{owner}.{named}"} if owner and named else set()
    return {name for name in names if reached_through_tdev(file, name)}
