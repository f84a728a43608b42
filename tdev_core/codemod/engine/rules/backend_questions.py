"""Finds the questions whether there is CUDA that choose beside other accelerators, or that are the question itself."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.cudas_answers import FOR_CUDA, REQUIRES
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.devices import is_what_others_leave, links_of
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    NAMES,
    decides_beside_other_arms,
    enclosing_function,
)
from tdev_core.codemod.engine.rules.cudas_tests import (
    asserts_what_stays,
    skips_a_test_of_no_device,
)
from tdev_core.codemod.engine.rules.device_arms import gives_devices
from tdev_core.codemod.engine.rules.guards import KERNEL_NAME
from tdev_core.codemod.engine.rules.kept_questions import ANSWERS_ITS_CALLERS, LEFT
from tdev_core.codemod.engine.rules.saved_states import is_of_saved_states
from tdev_core.codemod.engine.survey import uses
from tdev_core.codemod.engine.vocabulary import OTHERS

AVAILABILITY = ("torch.cuda.is_available", "torch.cuda.device_count")
ASKED = (*AVAILABILITY, "torch.backends.cuda.is_built")


def chooses_between_backends(file: File, found: list[Reference]) -> dict[cst.CSTNode, str]:
    """Return the questions whether there is CUDA that stay, because they choose beside other accelerators.

    With one of them, all that its function asks. In a program that was started to run, none: what it asks
    is answered for the device that it runs on, by whichever name and import it asks.
    """
    if file.options.program:
        return {}
    asked = [f for f in found if f.name in ASKED]
    beside = [f for f in asked if decides_beside_other_arms(file, f.node)]
    beside += [f for f in asked if f not in beside and _chooses_a_class(file, f.node)]
    beside += [f for f in asked if f not in beside and _is_kept_beside_others(file, f.node)]
    beside += [f for f in asked if f not in beside and _is_asked_later(file, f.node)]
    beside += [f for f in asked if f not in beside and _is_what_others_leave(file, f.node)]
    if file.options.style != "accelerator":
        beside = [f for f in beside if not gives_devices(file, f.node)]
    stay: dict[cst.CSTNode, str] = {
        f.node: f"{f.name} chooses between backends; {LEFT}" for f in beside
    }
    homes = {enclosing_function(file, f.node) for f in beside} - {None}
    for f in asked:
        if enclosing_function(file, f.node) in homes:
            why = f"{f.name} stands in a function that chooses between backends; {LEFT}"
            stay.setdefault(f.node, why)
        elif is_of_saved_states(file, f):
            pass  # which are told of for themselves
        elif skips_a_test_of_no_device(file, f.node):
            stay[f.node] = (
                f"{f.name} decides about tests that leave the device to code which knows MPS; {LEFT}"
            )
        elif f.node not in stay and (answers := _is_the_question(file, f.node)) is not None:
            stay[f.node] = f"{answers}; {LEFT}"
    return stay


def _is_what_others_leave(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question chooses a device where none of another accelerator has been chosen."""
    if "is_available" not in file.tree.source or OTHERS.search(file.tree.source) is None:
        return False
    python = file.python
    asked = python.at(file.tree.span(node)) if python is not None else None
    return python is not None and asked is not None and is_what_others_leave(python, asked)


# `torch.cuda.device_count() != 0`
_OF_AN_ANSWER = (cst.Call, cst.Comparison, cst.ComparisonTarget)
_OF_A_GPU = re.compile(r"\w*(?:GPU|CUDA|Cuda)\Z")


def _chooses_a_class(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer chooses a class that is called after the GPU, where others have classes too: ``DeviceMPS``."""
    choice = file.tree.parents[file.tree.parents[node]]
    home = enclosing_function(file, node)
    if not isinstance(choice, cst.IfExp) or home is None or not isinstance(choice.body, cst.Call):
        return False
    made = file.tree.text(choice.body.func).rpartition(".")[2]
    return _OF_A_GPU.match(made) is not None and OTHERS.search(file.tree.text(home)) is not None


def _is_kept_beside_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer is kept in a row with that for another accelerator: ``with_xpu = torch.xpu.is_available()``."""
    kept = next((p for p in file.tree.ancestors(node) if not isinstance(p, _OF_AN_ANSWER)), None)
    if not isinstance(kept, cst.Assign):
        return False
    # By its lines: what asks for another accelerator alone need not be in the tree.
    row = file.tree.position(file.tree.span(kept)[0])[0]
    near = [each for each in (row - 1, row + 1) if 1 <= each <= file.tree.line_count]
    return any(_KEEPS_ANOTHER.match(file.tree.line_text(each)) is not None for each in near)


def _is_asked_later(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a variable keeps an answer for a chain that asks for others as well: ``if with_cuda: …``, ``elif with_mps: …``."""
    kept = file.tree.parents[file.tree.parents[node]]
    python = file.python if isinstance(kept, cst.Assign) else None
    asked = python.at(file.tree.span(node)) if python is not None else None
    if python is None or asked is None:
        return False
    around = list(python.ancestors(asked))
    name = next((_given_to(each) for each in around if isinstance(each, ast.Assign)), "")
    home = next((each for each in around if isinstance(each, _FUNCTIONS)), python.module)
    for use in python.reads.get(name, ()):
        above = list(python.ancestors(use))
        test: ast.AST = use
        while above and isinstance(above[0], ast.BoolOp):  # `with_cuda or with_npu`
            test = above.pop(0)
        if home in above and isinstance(above[0], ast.If) and test is above[0].test:
            chain, *outer = above
            while outer and isinstance(outer[0], ast.If) and outer[0].orelse == [chain]:
                chain, *outer = outer
            assert isinstance(chain, ast.If)
            tests = [each.test for each in links_of(chain) if each.test is not use]
            block = python.block(chain)
            at = block.index(chain) if chain in block else 0
            # `if with_cuda: return …`, then `if with_mps: return …`
            near = [*block[max(0, at - 1) : at], *block[at + 1 : at + 2]]
            tests += [each.test for each in near if isinstance(each, ast.If)]
            if any(OTHERS.search(ast.unparse(test)) is not None for test in tests):
                return True
    return False


def _given_to(assigned: ast.Assign) -> str:
    (target,) = assigned.targets if len(assigned.targets) == 1 else (None,)
    return target.id if isinstance(target, ast.Name) else ""


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEEPS_ANOTHER = re.compile(
    rf"\s*[\w.]+[ \t]*=[ \t]*[^\n=]*\b(?:{NAMES})\.(?:is_available|is_built|device_count)\("
)
_SAYS_CUDA = re.compile(r"cuda|gpu", re.IGNORECASE)
_THE_QUESTION = re.compile(r"_?(?:is_|has_)?(?:torch_)?(?:cuda|gpu)_(?:is_)?available\Z")


def _has_a_kept_decorator(file: File) -> bool:
    """Tell whether a function at the margin of a file lets tests run on CUDA alone: those of one module go together."""
    kept = file.options.tree.cudas_decorators if file.options.tree is not None else ()
    return any(f"\ndef {name}(" in file.tree.source for name in kept)


def _is_the_question(file: File, node: cst.CSTNode) -> str | None:
    """Return why a function or constant that answers whether there is CUDA keeps meaning CUDA, if it does.

    ``def is_cuda_available()``: a caller with an arm for another accelerator would never reach that, and
    what nothing in the tree calls is a package's public answer.
    """
    home = enclosing_function(file, node)
    name = ""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.Return) and home is not None:
            name = home.name.value
        elif isinstance(parent, cst.Assign) and home is None:
            target = parent.targets[0].target
            name = target.value if isinstance(target, cst.Name) else ""
        elif isinstance(parent, cst.ClassDef) and name:
            if re.search(r"CUDA|Cuda", parent.name.value):
                if file.options.style != "accelerator":
                    file.untouched.append(file.tree.span(parent))  # what it does, it does on CUDA
                return f"{parent.name.value}.{name} answers for CUDA among other backends"
    if home is not None and _THE_QUESTION.match(home.name.value):
        name = home.name.value  # whatever it does with the answer before it gives it
    if home is not None and REQUIRES.match(home.name.value):
        # Those that stand side by side ask alike: `require_single_gpu` and `require_multi_gpu`.
        alike = [d for d in file.tree.of(cst.FunctionDef) if REQUIRES.match(d.name.value)]
        says_cuda = any(FOR_CUDA.search(file.tree.text(each)) for each in alike)
        if says_cuda or _has_a_kept_decorator(file):
            return f"{home.name.value} asks for CUDA for tests"
    if not _SAYS_CUDA.search(name):
        return None
    if KERNEL_NAME.search(name):
        return f"{name} answers for CUDA's kernels"
    tree = file.options.tree
    beside = tree.beside if tree is not None else uses(file.tree.source.encode())[1]
    if name in beside:
        return f"{name} is asked beside other accelerators"
    if tree is not None and name not in tree.called and (home is not None or name.isupper()):
        return f"{name} is asked by nothing in the tree: it is this package's answer to others"
    if tree is not None and file.options.style == "accelerator" and "cuda" in name.lower():
        # Its callers move to CUDA, or speak of it, in other files.
        if not name.startswith("_") and (home is not None or name.isupper()):
            return f"{name} is asked by a name that says CUDA"
    if asserts_what_stays(file):
        return f"{name} is asked for tests that assert CUDA's name"
    if tree is not None:
        file.find(ARMS, node, f"{name} asks for CUDA; {ANSWERS_ITS_CALLERS}")
    return None
