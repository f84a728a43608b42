"""Leaves the arms of torches that are older than any that tdev runs on: nobody gets there who has tdev.

``if Version(torch.__version__) >= Version("2.4"): … else: …`` has an arm for torch 2.3, which stays as it was written.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.statements import leaves
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.cudas_arms import CALLS_CUDA
from tdev_core.release import OLDEST

# Torch's own version compares as versions do; as plain text, 2.13 comes before 2.4.
_PARSED = r"(?:[\w.]*(?:parse|parse_version|Version|digit_version)\(\s*{}(?:\.split\([^()]*\)\[0\]|\.base_version)?\s*\)|{})(?:\.release)?"
_INSTALLED = _PARSED.format(*[r"torch\.__version__"] * 2)
# What a program keeps it in, which may be text: it is parsed, or compared with what is.
_KEPT = r"(?:TORCH_VERSION|torch_version)"
_VERSION = r"[\"']\d+\.\d+[\w.+]*[\"']"
_OTHER = _PARSED.format(*[_VERSION] * 2)
_PARSED_ALONE = _PARSED.partition("|{}")[0].removeprefix("(?:")
_ASKS = re.compile(
    rf"(?:{_INSTALLED}|{_PARSED_ALONE.format(_KEPT)})\s*([<>]=?)\s*({_OTHER})"
    rf"|{_KEPT}\s*([<>]=?)\s*({_PARSED_ALONE.format(_VERSION)})"
)
_NUMBERS = re.compile(r"(\d+)\.(\d+)")
# What a program keeps the answer in: `is_torch_greater_or_equal_than_1_13`, `TORCH_2_4`.
_FLAG = re.compile(
    r"(not\s+)?(?:\w+\.)*_?(?:is_)?torch_(?:(?:greater_or_equal(?:_than)?|ge|gte|greater_equal|at_least)_)?(\d)_(\d+)(?:_\d+)?",
    re.IGNORECASE,
)

# And of another family: `torch_geometric.typing.WITH_PT24`.
_WITH = re.compile(r"(not\s+)?(?:\w+\.)*WITH_PT(\d)(\d+)")


def arms_of_old_torch(file: File) -> None:
    """Leave what such a question opens on a torch that is too old for tdev, and what is asked for besides on none but that."""
    for choice in file.tree.of(cst.If, cst.IfExp):
        newer = _is_newer_of_all(file, choice.test)
        if newer is None:
            continue
        old = [_asked_besides(file, choice.test)]
        arm = choice.orelse if newer else choice.body
        if arm is not None:
            old.append(file.tree.span(arm))
        elif isinstance(choice, cst.If):
            old.append(_after_what_leaves(file, choice))
        spans = [span for span in old if span is not None]
        file.untouched += spans
        file.of_old_torch += spans
        if any(CALLS_CUDA.search(file.code, *span) for span in spans):
            file.find(
                ARMS, choice.test, "has an arm for a torch older than tdev's; left as it is", "note"
            )


def _asked_besides(file: File, test: cst.BaseExpression) -> Span | None:
    """Find the half of a condition that no torch of tdev's comes to: ``not hasattr(functional, "scaled_dot_product_attention") and …``."""
    if not isinstance(test, cst.BooleanOperation) or not isinstance(test.operator, cst.And):
        return None
    never = _is_newer_of_all(file, test.left) is False
    return file.tree.span(test.right) if never else _asked_besides(file, test.left)


def _after_what_leaves(file: File, choice: cst.If) -> Span | None:
    """Find what a block goes on with after an ``if`` for newer torches, each way through which leaves it."""
    python = file.python
    test = python.at(file.tree.span(choice.test)) if python is not None else None
    if python is None or test is None:
        return None
    asked = next(python.ancestors(test))
    if not isinstance(asked, ast.If) or not leaves(asked.body):
        return None
    block = python.block(asked)
    rest = block[block.index(asked) + 1 :] if asked in block else []
    return (python.span(rest[0])[0], python.span(rest[-1])[1]) if rest else None


# What torch has for every device since 2.3 or before, which is tried, and what it had for CUDA.
_NEW = re.compile(
    r"\bt(?:orch|dev)\.(?:amp\b|(?:autocast|GradScaler)\b)"
    r"|\bfrom[ \t]+t(?:orch|dev)[ \t]+import\b[^\n]*\b(?:autocast|GradScaler)\b"
    r"|\bt(?:orch|dev)\.nn\.attention\b"
)
# What is raised where a name is not there, or takes other arguments.
_LACKS = re.compile(
    r"[(\s]*(?:(?:ImportError|ModuleNotFoundError|AttributeError|TypeError)[,)\s]*)+"
)
_OTHERS = re.compile(r"\bcuda\.(?!(?:amp|sdp_kernel)\b)\w|[\"']cuda\b|\.cuda\(")
_HAS_NEW = re.compile(
    r"hasattr\(\s*(?:(?:[\w.]*\bfunctional|F)\s*,\s*[\"']scaled_dot_product_attention|[\w.]*(?:torch|amp)\w*\s*,\s*[\"'](?:GradScaler|autocast)|(?:torch|th)\s*,\s*[\"'](?:compile|func|vmap))[\"']\s*\)"
)
_OLD = re.compile(r"\b(?:torch\.)?cuda\.amp\b|\bbackends\.cuda\.sdp_kernel\b")


def handlers_of_old_torch(file: File) -> None:
    """Leave what is done where torch has no ``torch.amp.GradScaler`` yet: ``except ImportError: from torch.cuda.amp …``."""
    old = any(sign in file.tree.source for sign in ("cuda.amp", "cuda.sdp_kernel"))
    for tried in file.tree.of(cst.Try) if old else ():
        body = file.tree.text(tried.body)
        if _NEW.search(body) is None or _OLD.search(body) is not None:
            continue
        for handler in tried.handlers:
            caught = file.tree.text(handler.type) if handler.type is not None else ""
            text = file.tree.text(handler.body)
            if _LACKS.fullmatch(caught) and _OLD.search(text) and not _OTHERS.search(text):
                span = file.tree.span(handler.body)
                file.untouched.append(span)
                file.of_old_torch.append(span)
                said = "is done on a torch older than tdev's; left as it is"
                file.find(ARMS, handler, said, "note")


_IS = re.compile(
    r"(?:\w+\.)*is_torch_version\(\s*[\"']([<>]=?)[\"']\s*,\s*([\"']\d+\.\d+[\w.+]*[\"'])\s*\)"
)


def _is_newer_of_all(file: File, test: cst.BaseExpression) -> bool | None:
    """Answer for a question about torch's version, its opposite, and what is asked for besides."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        newer = _is_newer_of_all(file, test.expression)
        return None if newer is None else not newer
    if isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.And):
        sides = [_is_newer_of_all(file, side) for side in (test.left, test.right)]
        return False if False in sides else None
    return _is_newer(file.tree.text(test))


def _is_newer(test: str) -> bool | None:
    """Tell how a question about torch's version is answered on each torch of tdev's; None where they differ, or it is another."""
    if _HAS_NEW.fullmatch(test):
        return True
    flag = _FLAG.fullmatch(test) or _WITH.fullmatch(test)
    if flag is not None:
        return None if (int(flag[2]), int(flag[3])) > OLDEST else flag[1] is None
    found = _ASKS.fullmatch(test) or _IS.fullmatch(test)
    if found is None:
        return None
    operator, other = (each for each in found.groups() if each is not None)
    numbers = _NUMBERS.search(other)
    assert numbers is not None
    if (int(numbers[1]), int(numbers[2])) >= OLDEST:
        return None
    return operator in (">", ">=")
