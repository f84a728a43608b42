"""Tells what a function says of other accelerators in its comments and tests: somebody has thought of them."""

from __future__ import annotations

import ast
import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import NAMES, enclosing_function
from tdev_core.codemod.engine.survey import is_for_tests
from tdev_core.codemod.engine.vocabulary import NOTE, SHARED_LIST, says_mps

# The program's own classes for other accelerators, by which a function chooses.
_OTHER_CLASSES = re.compile(
    r"\b(?:MPS|XPU|XLA|TPU|HPU|NPU|ROCm|Rocm|Npu|Xpu|Hpu)(?:Accelerator|Platform|Backend)\b"
)


def asks_about_others(file: File, operand: cst.BaseExpression, *, lists: bool = True) -> bool:
    """Tell whether the function compares the same device with another accelerator's name as well.

    The text is searched, not the tree: such a comparison need not name CUDA. Without ``lists``, one by one.
    """
    base = _asked(file, operand)
    home = enclosing_function(file, operand)
    if home is None or not base:
        return False
    one = rf"\s*[!=]=\s*[\"']({NAMES})\b|\.startswith\(\s*[\"']({NAMES})\b"
    several = rf"|\s+(?:not\s+)?in\s*[\[({{](?![^])}}]*[\"']cuda)[^])}}]*[\"']({NAMES})\b"
    it = re.escape(base)
    asked = rf"{it}(?<![\w.]{it})(?:\.type)?(?:{one}{several if lists else ''})"
    text = file.tree.text(home)
    if not lists:
        return re.search(asked, text) is not None
    if re.search(asked, text) is not None or _OTHER_CLASSES.search(text) is not None:
        return True
    return is_listed(file, operand) or _is_chosen_for_others(file, base, home)


_OTHER_WORD = re.compile(rf"[\"'](?:{NAMES})\b")


def _is_chosen_for_others(file: File, base: str, home: cst.FunctionDef) -> bool:
    """Tell whether the function itself makes the device another accelerator's: ``… else "mps" if … else "cpu"``.

    What then asks for CUDA has left that one out.
    """
    return _OTHER_WORD.search(file.tree.text(home)) is not None and any(
        file.tree.text(node.targets[0].target) == base
        and _OTHER_WORD.search(value := file.tree.text(node.value)) is not None
        and "cuda" in value
        and " if " in value
        and enclosing_function(file, node) is home
        for node in file.tree.of(cst.Assign)
    )


def is_listed(file: File, operand: cst.BaseExpression) -> bool:
    """Tell whether the function, or the class around it, asks for a list of devices that has decided which there are.

    ``if device.type not in ("cuda", "meta"): warn(…)``.
    """
    base = _asked(file, operand)
    home = enclosing_function(file, operand)
    if home is None or not base:
        return False
    it = re.escape(base)  # at the start of the pattern, which `re` then looks for many times faster
    listed = (
        rf"{it}(?<![\w.]{it})(?:\.type)?\s+(?:not\s+)?in\s*"
        rf"[\[({{](?=[^])}}]*[\"']cuda[\"'])[^])}}]*[\"'](?:cpu|meta)[\"']"
    )
    owner = next((p for p in file.tree.ancestors(home) if isinstance(p, cst.ClassDef)), home)
    return re.search(listed, file.tree.text(owner)) is not None


def _asked(file: File, operand: cst.BaseExpression) -> str:
    """Return the text of what is asked for its type; nothing where it is a long one."""
    base = file.tree.text(operand)
    base = re.sub(r"\A(?:str|repr)\((.*)\)\Z", r"\1", base, flags=re.DOTALL).removesuffix(".type")
    return base if len(base) <= 80 else ""


_MEASURED = re.compile(r"\b(?:measured|benchmarked|faster|slower|beats)\b", re.IGNORECASE)
_TEXT = re.compile(r"(?:\"{3}.*?\"{3}|'{3}.*?'{3})|(?:^[ \t]*#[^\n]*\n)+", re.DOTALL | re.MULTILINE)
_OTHER_NAMES = re.compile(
    r"\b(?:MPS|XPU|NPU|HPU|MLU|TPU|Apple|Gaudi|Ascend|cupy|CuPy|cucim|cuCIM)\b"
)

_WHAT_THEY_DO = re.compile(
    rf"\bother (?:devices|accelerators|backends)\b[^.]{{,40}}{_OTHER_NAMES.pattern}"
    r"|(?i:\bnon-CUDA (?:devices?|accelerators?|backends?)\b)"
)


def measured_for_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a text of the function says what was measured on another accelerator, or against CUDA's packages.

    Or what happens there: ``On other devices (CPU, MPS) the backbone stays in float32``. A choice between engines by
    speed is none to be made for a device that nobody tried.
    """
    home = enclosing_function(file, node)
    return home is not None and any(
        _MEASURED.search(found.group())
        and _OTHER_NAMES.search(found.group())
        or _WHAT_THEY_DO.search(found.group())
        for found in _TEXT.finditer(file.tree.text(home))
    )


def takes_the_type_of_others(file: File, node: cst.CSTNode, operand: cst.CSTNode) -> bool:
    """Tell whether a test belongs to a chain that ends with the type of whatever device was named.

    ``elif "cuda" in device: kind = "cuda"``, and then ``else: kind = device.split(":")[0]``.
    """
    choice = file.tree.parents[node]
    if isinstance(choice, cst.IfExp) and choice.test is node:
        # `"gpu" if device.type == "cuda" else device.type`
        return file.tree.text(choice.orelse).strip() == file.tree.text(operand).strip()
    if not isinstance(choice, cst.If) or choice.test is not node:
        return False
    name = re.escape(file.tree.text(operand))
    last: cst.CSTNode | None = choice.orelse
    while isinstance(last, cst.If):
        last = last.orelse
    taken = re.compile(rf"(?P<kind>[\w.]+)[ \t]*=[ \t]*{name}\.(?:split|partition)\([\"']:")
    if not isinstance(last, cst.Else) or (found := taken.search(file.tree.text(last))) is None:
        return False
    given = rf"(?<![\w.]){re.escape(found['kind'])}[ \t]*=[ \t]*[\"']cuda[\"']"
    return re.search(given, file.tree.text(choice.body)) is not None


_OPENS = re.compile(r"[ \t]*if\b[^\n]*:[ \t]*$")
_SAYS_OTHER = re.compile(r"#.*\b(?:mps|xpu|npu|hpu|other accelerators?)\b", re.IGNORECASE)


def said_of_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the comment above a statement speaks of another accelerator: somebody has thought of it."""
    line = file.tree.position(file.tree.span(file.tree.statement(node))[0])[0] - 1
    # Or above the `if` that the statement is the first of.
    if line >= 1 and _OPENS.match(file.tree.line_text(line)):
        line -= 1
    while line >= 1 and (text := file.tree.line_text(line).strip()).startswith("#"):
        if _SAYS_OTHER.match(NOTE.sub("#", text)):
            return True
        line -= 1
    return False


LEAVES_OUT = "asks for CUDA in code that knows MPS; left as it is"
# What a question opens that does on any accelerator what it does on CUDA: `torch.cuda.empty_cache()`. But a stream is
# for copies that nobody waits for, whose own question stays.
_CALLS = re.compile(
    r"\s*(?:(?:with\s+)?torch\.cuda\.(?!(?:Stream|set_device)\b)\w+(?:\.\w+)*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*:?\s*)+"
)


def leaves_out_others(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question for CUDA's type stands in a program that knows MPS: who wrote it left that one out.

    A precision, a scaler, a compiler: what runs on MPS today runs without it there. But a question that opens nothing
    but calls of ``torch.cuda``, or gives what one tells, is as right for any accelerator. ``in ("cuda", "mps")`` leaves
    none out; nor is any left out of a device that the function itself has named ``torch.device("cuda")``.
    """
    if not _keeps_others_apart(file) or _is_of_a_named_device(file, node):
        return False
    if any("mps" in listed for listed in SHARED_LIST.findall(file.tree.text(node))):
        return False
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)) and below is parent.test:
            return _CALLS.fullmatch(file.tree.text(parent.body)) is None
        if not isinstance(parent, (cst.UnaryOperation, cst.BooleanOperation)):
            return True
        below = parent
    return True


_OF_ITS_TYPE = re.compile(r"(\w+)\.type\s*[=!]=")
_NAMED = re.compile(r"(?:\w+\.)?device\(\s*[\"']cuda(?::\d+)?[\"']\s*\)")


def _is_of_a_named_device(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question asks for the type of a variable that its function gives CUDA's device and no other."""
    asked = _OF_ITS_TYPE.match(file.tree.text(node))
    home = enclosing_function(file, node) if asked is not None else None
    python = file.python if home is not None and "device(" in file.tree.text(home) else None
    if asked is None or home is None or python is None:
        return False
    low, high = file.tree.span(home)
    given = [
        next(python.ancestors(each))
        for each in python.binds.get(asked[1], ())
        if low <= python.span(each)[0] < high
    ]
    return bool(given) and all(
        isinstance(each, ast.Assign) and _NAMED.fullmatch(python.source(each.value)) is not None
        for each in given
    )


# But not what is compared with it.
_MOVES = re.compile(r"\.cuda\(|(?<![!=]=)(?<![!=]= )[\"']cuda\b")


def moves_there(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the function around a demand has taken something to CUDA before it asks: that is where it is then."""
    home = enclosing_function(file, node)
    if home is None:
        return True
    before = file.tree.source[file.tree.span(home.body)[0] : file.tree.span(node)[0]]
    return _MOVES.search(before) is not None


_NO_CPU = re.compile(r"\.type\s*!=\s*[\"']cpu[\"']")


def means_cudas_type(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question if there is CUDA stands for that of a device's type: ``is_available() and device.type != "cpu"``.

    In a program that knows MPS, where it leaves that one out.
    """
    if not _keeps_others_apart(file):
        return False
    whole = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
            whole = parent
        elif not isinstance(parent, cst.Call):
            break
    return whole is not None and _NO_CPU.search(file.tree.text(whole)) is not None


def _keeps_others_apart(file: File) -> bool:
    """Tell whether a question for CUDA's type is one that leaves others out: a person will read it, and knows MPS."""
    return not file.options.program and file.options.style != "accelerator" and knows_mps(file)


def knows_mps(file: File) -> bool:
    """Tell whether a file asks for MPS or makes a device of it, or another one of its package does.

    Or of the package that it is a script for: what it imports of that refuses MPS there.
    """
    tree, path = file.options.tree, PurePath(file.filename)
    if tree is not None and tree.know_mps:
        if not tree.know_mps.isdisjoint(path.parts[:-1]):
            return True
        if not is_for_tests(path) and not tree.know_mps.isdisjoint(_IMPORTED.findall(file.code)):
            return True
    return says_mps(file.code)


def runs_on_others(file: File) -> bool:
    """Tell whether a file is of a package that runs on accelerators which tdev does not know, or is there for one."""
    tree = file.options.tree
    if tree is None or not tree.run_on_others:
        return False
    within = {*PurePath(file.filename).parts[:-1], *_IMPORTED.findall(file.code)}
    return not tree.run_on_others.isdisjoint(within)


def tests_what_knows_mps(file: File) -> bool:
    """Tell whether a file imports a package of the tree that knows MPS, or speaks of it: a test need not know what it tests."""
    tree = file.options.tree
    if tree is not None and not tree.know_mps.isdisjoint(_IMPORTED.findall(file.code)):
        return True
    return knows_mps(file)


_IMPORTED = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
