"""Finds the tests that stay CUDA's with what skips them: they assert its name, or try its flash attention."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.vocabulary import without_prose

# `self.assertEqual(p.device.type, "cuda")`, which no rule has a spelling for.
_OF_CUDA = re.compile(
    r"\bassert\w+\((?:[^()\"']|\([^()]*\))*[\"']cuda(?::\d+)?[\"']|(?i:(?<![a-z])flash(?![a-z]))"
)
_TEST = re.compile(r"\bdef[ \t]+test")
_SKIPS = re.compile(r"(?:\w+\.)*skip(?:if|unless)\(", re.IGNORECASE)


def skips_a_test_of_cudas(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question skips a test where CUDA is not, or whether tests are there at all, that hold on CUDA alone."""
    below, denied = question, False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.UnaryOperation):
            denied = True
        elif isinstance(parent, cst.Decorator):
            test = file.tree.parents[parent]
            skips = _SKIPS.match(text := file.tree.text(parent.decorator))
            where_not = denied or "unless" in text.partition("(")[0].lower()
            named = isinstance(test, cst.FunctionDef) and test.name.value.startswith("test")
            return bool(skips) and where_not and named and _is_of_cuda(file, test)
        elif isinstance(parent, cst.If) and below is parent.test:
            tests = file.tree.source[slice(*file.tree.span(parent.body))]
            return _TEST.search(tests) is not None and _is_of_cuda(file, parent.body)
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _is_of_cuda(file: File, node: cst.CSTNode) -> bool:
    text = file.tree.source[slice(*file.tree.span(node))]
    return _OF_CUDA.search(without_prose(text)) is not None
