"""Finds the tests that stay CUDA's with what skips them: they assert its name, or try its flash attention."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File

# `self.assertEqual(p.device.type, "cuda")`, which no rule has a spelling for.
_ASSERTS = re.compile(
    r"\bassert\w+\((?:[^()\"']|\([^()]*\))*[\"']cuda(?::\d+)?[\"']|(?i:(?<![a-z])flash(?![a-z]))"
)
_TEST = re.compile(r"\bdef[ \t]+test")


def skips_a_test_of_cudas(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question decides if tests are run, or are there at all, that hold on CUDA alone."""
    below = question
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.Decorator):
            tests = file.tree.source[slice(*file.tree.span(file.tree.parents[parent]))]
            return _ASSERTS.search(tests) is not None
        if isinstance(parent, cst.If) and below is parent.test:
            tests = file.tree.source[slice(*file.tree.span(parent.body))]
            return _TEST.search(tests) is not None and _ASSERTS.search(tests) is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False
