"""Decides what changes in one file's text: text in; text, edits and findings out.

Entered by the names below alone; it reads no files and imports no torch, and libcst only once a text
is rewritten. Imports nothing of the codemod; ``jobs``, ``embedded`` and ``tdev_core.run`` import it.
"""

from tdev_core.codemod.engine.api import (
    IMPORT_RULES,
    STYLES,
    Edit,
    Finding,
    Names,
    Options,
    ProgramTree,
    Replacement,
    Result,
    Rule,
    Sections,
    Severity,
    Style,
    SyntaxError_,
)
from tdev_core.codemod.engine.cudas_modules import behind_cuda, may_be_behind
from tdev_core.codemod.engine.driver import rewrite
from tdev_core.codemod.engine.importing import BESIDE, Importing, may_need
from tdev_core.codemod.engine.links import Links
from tdev_core.codemod.engine.staying import imports_torch
from tdev_core.codemod.engine.survey import Survey, dotted_name
from tdev_core.codemod.engine.uses import Use, uses
from tdev_core.codemod.engine.vocabulary import CUT, may_concern

__all__ = [
    "CUT",
    "IMPORT_RULES",
    "STYLES",
    "Edit",
    "Finding",
    "BESIDE",
    "Importing",
    "Links",
    "Names",
    "Options",
    "ProgramTree",
    "Replacement",
    "Result",
    "Rule",
    "Sections",
    "Severity",
    "Style",
    "Survey",
    "SyntaxError_",
    "Use",
    "behind_cuda",
    "dotted_name",
    "imports_torch",
    "may_be_behind",
    "may_concern",
    "may_need",
    "rewrite",
    "uses",
]
