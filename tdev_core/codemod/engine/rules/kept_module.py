"""Gives tdev where a program keeps torch itself, and asks that for CUDA: ``self.torch = torch``."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.reference_rules import REFERENCE


def kept_module(file: File) -> None:
    """Keep tdev in an attribute or a variable that ``torch.cuda`` is taken from: what else is taken from it is torch's own."""
    for node in file.tree.of(cst.Name):
        found = file.resolver.reference(node) if node.value in file.resolver.roots else None
        if found is None or found.name != "torch" or file.kept(node):
            continue
        if any(
            re.search(rf"(?<![\w.]){re.escape(name)}\.cuda\b", file.tree.source)
            for name in _kept_as(file, node)
        ):
            file.use(REFERENCE, found, "CUDA is asked by the name that it is kept under")


def _kept_as(file: File, node: cst.CSTNode) -> Iterator[str]:
    """Yield the names under which the value of an expression is kept: ``self.torch = torch if there else None``."""
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.IfExp() if below is not parent.test:
                pass
            case cst.Assign():
                for target in parent.targets:
                    yield file.tree.text(target.target)
                return
            case cst.AnnAssign(value=value) | cst.NamedExpr(value=value) if value is below:
                yield file.tree.text(parent.target)
                return
            case _:
                return
        below = parent
