"""Leaves the private methods that nobody calls: no device ever gets there.

A name with two underscores is mangled with that of its class, so that its own file shows who calls it.
"""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.cudas_arms import CALLS_CUDA

_MANGLED = re.compile(r"__\w*[^\W_]_?\Z")
# Of the object itself, by a name that is no text: `getattr(self, PREFIX + name)`.
_BY_A_NAME = re.compile(r"\bgetattr\(\s*(?:self|cls)\s*,(?!\s*[\"'][^\"'\n]*[\"']\s*[,)])")
_LOADS = re.compile(r"\bload\(")


def never_called(file: File) -> None:
    """Leave each such method, and say so where CUDA or a load is in it."""
    source = file.tree.source
    if "def __" not in source or "getattr(" in source and _BY_A_NAME.search(source) is not None:
        return
    for method in file.tree.of(cst.FunctionDef):
        name = method.name.value
        if _MANGLED.match(name) is None or method.decorators:
            continue
        owner = file.tree.parents.get(file.tree.parents[method])
        # The beginning of a mangled name may be put before any other.
        if not isinstance(owner, cst.ClassDef) or f"_{owner.name.value.lstrip('_')}__" in source:
            continue
        # In a string as well, and as its mangled name ends.
        if len(re.findall(rf"{name}(?!\w)", source)) != 1:
            continue
        span = file.tree.span(method)
        file.untouched.append(span)
        if CALLS_CUDA.search(file.code, *span) or _LOADS.search(file.code, *span):
            said = f"{name} is private and called by nobody; left as it is"
            file.find(ARMS, method.name, said, "note")
