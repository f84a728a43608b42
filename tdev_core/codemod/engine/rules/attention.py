"""Tells where attention is restricted to torch's own computation, which is there on every device."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File

SDPA_KERNEL = "torch.nn.attention.sdpa_kernel"
# After the function's name: tdev hands on, as they are, the backends that MATH is among.
_GIVEN_MATH = re.compile(r"\(\s*[^()]*\bSDPBackend\.MATH\b")


def names_math(file: File, end: int) -> bool:
    """Tell whether the function whose name ends at an offset is called with MATH."""
    return _GIVEN_MATH.match(file.tree.source, end) is not None


def names_math_alone(file: File, name: str) -> bool:
    """Tell whether a file does nothing but call the function so, by that name, once it has imported it."""
    uses = [
        node
        for node in file.tree.of(cst.Name)
        if node.value == name
        and not isinstance(file.tree.parents[node], (cst.ImportAlias, cst.AsName))
    ]
    ends = [file.tree.span(node)[1] for node in uses]
    return bool(ends) and all(names_math(file, end) for end in ends)
