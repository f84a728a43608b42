"""Judges a question by who takes its answer: another package's words and numbers stay CUDA's, and so does what is only told.

A package that nothing is known of, or that knows CUDA alone, takes a yes for CUDA's: off CUDA it would look for what is not
there, where it runs on the CPU today.
"""

from __future__ import annotations

import ast
import re
import sys

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.takers import Taker
from tdev_core.codemod.engine.rules.by_itself import placed_by_itself
from tdev_core.codemod.engine.rules.guards import LIBRARIES as RUN_ANYWHERE
from tdev_core.codemod.engine.vocabulary import DEVICE_NAME, LIBRARIES
from tdev_core.ecosystem.device_table import holders, named

TOLD = "is only put into words, which say CUDA"
KNOWS_CUDA = "which knows CUDA and no device of tdev's"
MAY_ASK_ITSELF = "of which nothing is known, and which may look for CUDA itself"
PROFILER = "torch's memory profiler, which records what CUDA and the CPU hold"
OF_A_TEST_RUN = "decides about a run of tests, in which other packages run as well"
READ_BY_NOBODY = "decides what nobody reads"
_CHOOSERS = frozenset(named("words"))
# Lightning's words and numbers, and Ray's.
_CHOSEN_BY = re.compile(
    r"accelerator|devices|(?:num_)?gpus?\w*|GPU|resources_per_\w+|auto_select_gpus"
)
# What is Lightning's by the word beside it, whoever hands it on.
_BESIDE_IT = frozenset({"accelerator", "devices", "gpus", "num_nodes", "precision", "strategy"})
_RUN_THERE = frozenset(named("name", "program", "nothing"))
# They hand on what they are given: as settings, as a person's default, as a case of a test.
_HAND_ON = frozenset(
    "streamlit gradio ipywidgets panel nicegui fire tyro simple_parsing jsonargparse configargparse tap "
    "yacs addict easydict munch box dotmap ml_collections attr attrs pydantic dacite prefect parameterized ddt "
    "nose testfixtures IPython papermill argbind gin sacred fiddle chz draccus pyrallis".split()
)
_TAKE_IT = (
    frozenset(named("any"))
    | _HAND_ON
    | LIBRARIES
    | (RUN_ANYWHERE - _CHOOSERS)
    | sys.stdlib_module_names
)
# A name, and no sentence, whose other words may be about what is asked beside.
_SAYS_CUDA = re.compile(r"\W*(?:\w+\W)?(?:cuda|nvidia)(?::\d+)?(?:\W\w+)?\W*\Z", re.IGNORECASE)
_KEYWORD = re.compile(r"(?:^|_)(?:device|map_location)$|^device(?:_map|_type|_id)?$")


def why_it_is_left(file: File, asked: cst.CSTNode) -> str | None:
    """Say why the answer of a question is no business of tdev's, by who takes it; None where somebody else does."""
    if _is_of_a_test_run(file, asked):
        return OF_A_TEST_RUN
    if (maker := placed_by_itself(file, asked)) is not None:
        return f"chooses where the inputs go of what {maker} has placed by itself"
    found, takers = _takers(file, asked), file.takers
    if takers is None:
        return None
    if (refusing := next((t for t in found if _refuses(t)), None)) is not None:
        return f"goes to {_called(refusing)}, {KNOWS_CUDA}"
    if _sets_an_accelerator(file, asked):
        return f"decides what Lightning is told as accelerator, {KNOWS_CUDA}"
    if any(t.kind == "profiler" for t in found):
        return f"goes to {PROFILER}"
    if any(t.kind in ("torch", "unknown") for t in found):
        return None
    packages = [t for t in found if t.kind == "package"]
    if packages:
        # What is open, another file may give to torch.
        if any(t.kind == "open" for t in found) or any(not _is_left_to(file, t) for t in packages):
            return None
        names = ", ".join(sorted({_called(t) for t in packages}))
        known = all(t.by.partition(".")[0] in holders() for t in packages)
        return f"goes to {names}, {KNOWS_CUDA if known else MAY_ASK_ITSELF}"
    if any(t.kind == "open" or t.by for t in found) or not takers.words or takers.makes:
        return None
    if not found:
        return READ_BY_NOBODY
    return TOLD if any(map(_SAYS_CUDA.match, takers.words)) else None


# A setting, `cfg.accelerator = "cuda"`, which is read elsewhere; of OmegaConf's, too.
_ACCELERATOR = re.compile(
    r"(?m)^\s*(?:\w+\.)+(?:\w+_)?accelerator[ \t]*=[ \t]*[\"'](?:cuda|gpu)[\"']"
    r"|\bOmegaConf\.update\(\s*\w+,\s*[\"'](?:\w+\.)*(?:\w+_)?accelerator[\"'],\s*[\"'](?:cuda|gpu)[\"']"
)


def _sets_an_accelerator(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether an ``if`` opens the setting of an accelerator by Lightning's word."""
    below = asked
    for parent in file.tree.ancestors(asked):
        if isinstance(parent, cst.If):
            return below is parent.test and bool(_ACCELERATOR.search(file.tree.text(parent.body)))
        if not isinstance(parent, (cst.BooleanOperation, cst.UnaryOperation)):
            return False
        below = parent
    return False


def is_only_told(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a value goes into messages and errors, whichever way, and nowhere else."""
    found, takers = _takers(file, node), file.takers
    told = bool(found) and all(t.kind == "told" and not t.by for t in found)
    return told and takers is not None and not takers.parsed


def is_for_the_memory_profiler(file: File, node: cst.CSTNode) -> bool:
    """Tell whether torch's memory profiler is told something, which has recorded what CUDA and the CPU hold."""
    return any(t.kind == "profiler" for t in _takers(file, node))


def is_told_to_a_chooser(file: File, value: ast.expr) -> bool:
    """Tell whether a value goes to what chooses by CUDA's own count or word, and fails of another: Lightning, or Ray."""
    takers = file.takers
    return takers is not None and any(_refuses(each) for each in takers.of(value))


def _takers(file: File, node: cst.CSTNode) -> list[Taker]:
    tree, takers = file.python, file.takers
    asked = tree.at(file.tree.span(node)) if tree is not None else None
    return takers.of(asked) if takers is not None and isinstance(asked, ast.expr) else []


def _called(taker: Taker) -> str:
    return (taker.by or "a call") + (f"({taker.parameter}=…)" if taker.parameter else "")


def _refuses(taker: Taker) -> bool:
    """Tell whether a taker certainly fails of a yes that is not CUDA's: Lightning, or Ray, which count CUDA's devices themselves."""
    if taker.made:
        return False
    if taker.kind != "torch" and taker.parameter in _BESIDE_IT and "accelerator" in taker.beside:
        return True  # by whichever name it is imported, from a module of the tree, too
    if taker.whole and taker.parameter == "accelerator":
        return True  # `trainer_kwargs={"accelerator": …}`, for a trainer that another package makes
    chooses = taker.by.partition(".")[0] in _CHOOSERS
    return chooses and _CHOSEN_BY.fullmatch(taker.parameter) is not None


def _is_left_to(file: File, taker: Taker) -> bool:
    """Tell whether a package takes a word or a number that has to stay CUDA's."""
    top = taker.by.partition(".")[0]
    if taker.made or taker.whole or top in _TAKE_IT:
        return False
    if top in _RUN_THERE:
        return True
    if file.options.tree is None and top not in holders():
        return False  # it may be a part of the program
    return not _is_given_a_device(taker)


def _is_given_a_device(taker: Taker) -> bool:
    """Tell whether a variable called after a device is given, whose word becomes the name of a real one there."""
    given = taker.given
    if isinstance(given, ast.IfExp):
        return _KEYWORD.search(taker.parameter) is not None
    if isinstance(given, ast.Attribute):
        name = given.attr
    elif isinstance(given, ast.Name):
        name = given.id
    else:
        return False
    named = not taker.parameter or _KEYWORD.search(taker.parameter) is not None
    return named and DEVICE_NAME.search(name) is not None


# `if mypackage._IS_TESTING and torch.cuda.is_available()`
_TESTING = re.compile(r"(?<![A-Za-z0-9])_?(?:[A-Z]+_)*TESTING\b")
_SKIPS_DOCTESTS = re.compile(r"\s*__doctest_(?:skip|requires)__\s*=")


def _is_of_a_test_run(file: File, asked: cst.CSTNode) -> bool:
    """Tell whether a question stands beside the flag of a test run, or decides which doctests are skipped."""
    below = asked
    for parent in file.tree.ancestors(asked):
        if isinstance(parent, cst.BooleanOperation):
            if _TESTING.search(file.tree.text(parent)) is not None:
                return True
        elif isinstance(parent, cst.If):
            skips = _SKIPS_DOCTESTS.match(file.tree.text(parent.body)) is not None
            return below is parent.test and skips
        elif not isinstance(parent, cst.UnaryOperation):
            return False
        below = parent
    return False
