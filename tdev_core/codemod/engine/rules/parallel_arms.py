"""Leaves arms and functions that do for CUDA what others beside them do for another accelerator, whatever they test."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arms import ARMS, NAMES
from tdev_core.codemod.engine.rules.cudas_arms import CALLS_CUDA

_OF_TORCH = re.compile(rf"torch\.(?<!\wtorch\.)(cuda|{NAMES}|sdaa)\.(\w+)")


def parallel_arms(file: File) -> None:
    """Leave the arm that asks of ``torch.cuda`` what the arms beside it ask of ``torch.xpu`` and its like, whatever they test."""
    source = file.tree.source
    asked: dict[str, set[str]] = {}
    for found in _OF_TORCH.finditer(source):
        asked.setdefault(found[2], set()).add(found[1])
    if not any("cuda" in whose and len(whose) > 1 for whose in asked.values()):
        return
    tree = file.python
    if tree is None:
        return
    for node in tree.statements:
        for block in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if isinstance(block, list):
                _leave_parallel(file, tree, block)


def _leave_parallel(file: File, tree: PythonTree, block: list[ast.stmt]) -> None:
    for one, other in zip(block, block[1:], strict=False):
        # `torch.cuda.empty_cache()`, and then the same if there is MPS
        said = _OF_TORCH.match(tree.text([one]).strip()) if isinstance(one, ast.Expr) else None
        if said is None or said[1] != "cuda" or not isinstance(other, ast.If):
            continue
        beside = {(owner, name) for owner, name in _OF_TORCH.findall(tree.text(other.body))}
        if any(owner != "cuda" and name == said[2] for owner, name in beside):
            file.untouched.append(tree.span(one))
            file.parallel.append(tree.span(one))
    near: list[list[ast.stmt]] = []
    for statement in [*block, None]:
        if isinstance(statement, ast.If):
            near += _arms(statement)
            continue
        whose = [set(_OF_TORCH.findall(tree.text(arm))) for arm in near]
        for at, arm in enumerate(near):
            used = {name for owner, name in whose[at] if owner == "cuda"}
            beside = {
                name
                for i, of_arm in enumerate(whose)
                if i != at
                for owner, name in of_arm
                if owner != "cuda"
            }
            if used and used & beside and all(owner == "cuda" for owner, _ in whose[at]):
                span = tree.span(arm[0])[0], tree.span(arm[-1])[1]
                reached = any(low <= span[0] < high for low, high in file.reached)
                if span not in file.untouched and not reached:
                    file.untouched.append(span)
                    file.parallel.append(span)
        near = []


def _arms(choice: ast.If) -> list[list[ast.stmt]]:
    """Return the arms of a chain."""
    arms = [choice.body]
    match choice.orelse:
        case [ast.If(col_offset=column) as link] if column == choice.col_offset:
            return arms + _arms(link)  # an `elif`
        case _:
            pass
    return [*arms, choice.orelse] if choice.orelse else arms


_AVAILABILITY = {"is_available", "device_count"}
_OF_OTHERS = re.compile(rf"(?:\w+_)?(?:{NAMES})(?:_\w+)?\Z")


def functions_of_others(file: File) -> None:
    """Leave the function of another accelerator (``def musa(self)``), and CUDA's that does the same as such a one.

    Of methods that are called for the device alone, ``def cuda(self)`` is everybody's: tdev calls it for its own.
    """
    for home in file.tree.of(cst.FunctionDef):
        name, text = home.name.value, file.tree.text(home)
        if _OF_OTHERS.match(name) and "cuda" not in name and not CALLS_CUDA.search(text):
            file.untouched.append(file.tree.span(home))
        if "cuda" not in name or name == "cuda":
            continue
        if name.startswith("test") and not file.options.program:
            twins = (name.replace("cuda", other) for other in NAMES.split("|"))
            if twin := next((each for each in twins if _text_beside(file, home, each)), None):
                first = home.decorators[0] if home.decorators else home
                file.untouched.append((file.tree.span(first)[0], file.tree.span(home)[1]))
                said = f"{name} tries on CUDA what {twin} tries on another; left as it is"
                file.find(ARMS, home.name, said)
                _leave_what_they_call(file, home, _text_beside(file, home, twin))
                continue
        asked = {what for owner, what in _OF_TORCH.findall(text) if owner == "cuda"}
        if file.options.program:  # which asks for the device that it runs on, by whatever name
            asked -= _AVAILABILITY
        for other in NAMES.split("|"):
            twin = name.replace("cuda", other)
            # `torch.backends.mps.is_available` is what `torch.cuda.is_available` is to CUDA.
            does = _text_beside(file, home, twin).replace(".backends.mps.", ".mps.")
            if asked & {what for owner, what in _OF_TORCH.findall(does) if owner == other}:
                file.untouched.append(file.tree.span(home))
                said = f"{name} does for CUDA what {twin} does for {other}; left as it is"
                file.find(ARMS, home.name, said)
                break


_CALLS_A_PRIVATE_ONE = re.compile(r"(?<![\w.])(?:self\.)?(_[a-zA-Z]\w*)\(")
_NAMES_ANOTHER = re.compile(rf"[\"'](?:cpu|{NAMES})\b")


def _leave_what_they_call(file: File, home: cst.FunctionDef, twin: str) -> None:
    """Leave a private function that such tests call, each with its device, where all other calls name another than CUDA."""
    low, high = file.tree.span(home)
    called = _CALLS_A_PRIVATE_ONE.findall(file.code, low, high)
    for name in set(called).intersection(_CALLS_A_PRIVATE_ONE.findall(twin)):
        defined = [each for each in file.tree.of(cst.FunctionDef) if each.name.value == name]
        uses = re.finditer(rf"(?<!def )\b{name}\b(?:\(((?:[^()]|\([^()]*\))*)\))?", file.code)
        given = [use[1] or "" for use in uses if not low <= use.start() < high]
        if len(defined) == 1 and all(
            _NAMES_ANOTHER.search(text) is not None and "cuda" not in text for text in given
        ):
            file.untouched.append(file.tree.span(defined[0]))


def _text_beside(file: File, home: cst.FunctionDef, name: str) -> str:
    """Return the text of the function of a name that is as deep as another; of the source, as it may be of no concern."""
    source = file.tree.source
    if f"def {name}(" not in source:
        return ""
    row, column = file.tree.position(file.tree.span(home)[0])
    indent = re.escape(file.tree.line_text(row)[: column - 1])
    found = re.search(
        rf"^{indent}(?:async )?def {name}\(.*?\n(?=(?:{indent})?[^\s)]|\Z)",
        source,
        re.DOTALL | re.MULTILINE,
    )
    return found[0] if found is not None else ""


_FOR_A_KIND = re.compile(
    rf"\b(\w+)\((?:[^()]|\([^()]*\))*?\bdevice_type[ \t]*=[ \t]*[\"'](cuda|{NAMES})[\"']"
)


def done_for_others(file: File) -> None:
    """Leave a function that calls the same with ``device_type="cuda"`` and again for another accelerator."""
    if "device_type" not in file.tree.source:
        return
    for home in file.tree.of(cst.FunctionDef):
        kinds: dict[str, set[str]] = {}
        for called, kind in _FOR_A_KIND.findall(file.tree.text(home)):
            kinds.setdefault(called, set()).add(kind)
        for called, given in kinds.items():
            if "cuda" in given and len(given) > 1:
                file.untouched.append(file.tree.span(home))
                said = f"{called} is called for other accelerators as well; {home.name.value} is left as it is"
                file.find(ARMS, home.name, said)
