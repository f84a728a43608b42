"""Knows the process groups that are made alike by torch and tdev: nothing that is CUDA's is asked of them."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arguments import Call

# The place of the backend in each function, those of what is CUDA's own, and that of what it asks the machine for where nobody says it.
_MAKERS: dict[str, tuple[int, tuple[tuple[str, int], ...], tuple[str, int] | None]] = {
    "new_group": (2, (("pg_options", 3), ("device_id", 6)), None),
    "new_subgroups": (3, (("pg_options", 4),), ("group_size", 0)),
    "new_subgroups_by_enumeration": (2, (("pg_options", 3),), None),
}
_OF_ANY_MACHINE = frozenset({"gloo", "mpi", "ucc"})


def is_made_alike(file: File, name: str, node: cst.CSTNode, call: Call | None) -> bool:
    """Tell whether a group is made of the default group's backend, or of one that every machine has.

    Of the former tdev tells the backend that the default group was asked for, whoever has made it. Of the latter it does so only
    if it has made it; whether that is heard is told by who asks for backends, and can get at the group.
    """
    home, _, last = name.rpartition(".")
    if call is None or last not in _MAKERS or not home.startswith("torch.distributed"):
        return False
    if any(arg.star for arg in call.args):
        return False
    at, options, needed = _MAKERS[last]
    if needed is not None and _is_none(call.argument(*needed)):
        return False
    if not all(_is_none(call.argument(*each)) for each in options):
        return False
    backend = call.argument("backend", at)
    if backend is None or _is_none(backend):
        return True
    tree = file.options.tree
    asked = tree.ask_backends if tree is not None else "get_backend" in file.tree.source
    return string_value(backend) in _OF_ANY_MACHINE and not (asked and _is_handed_on(file, node))


_PRIVATE = re.compile(r"self\._\w+\Z")


def _is_handed_on(file: File, node: cst.CSTNode) -> bool:
    """Tell whether others get a group, and not only torch's functions by a private attribute: ``broadcast(x, 0, group=self._group)``."""
    made = file.tree.parents[file.tree.parents[node]]
    target: cst.CSTNode | None = None
    if isinstance(made, cst.Assign) and len(made.targets) == 1:
        target = made.targets[0].target
    elif isinstance(made, cst.AnnAssign):
        target = made.target
    name = file.tree.text(target) if target is not None else ""
    if _PRIVATE.match(name) is None or "get_backend" in file.tree.source:
        return True
    it = rf"(?<![\w.]){re.escape(name)}\b"
    uses = len(re.findall(rf"{it}(?![ \t]*(?::[^=\n]+)?=(?!=))", file.code))
    given = (
        rf"\b(?:dist|distributed|c10d)\.\w+\((?:[^()]|\([^()]*\))*\bgroup[ \t]*=[ \t]*{it}(?!\.)"
    )
    return uses != len(re.findall(given, file.code))


def _is_none(value: cst.BaseExpression | None) -> bool:
    return value is None or isinstance(value, cst.Name) and value.value == "None"
