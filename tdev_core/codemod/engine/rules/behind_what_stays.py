"""Finds functions and classes that nothing uses but what stays CUDA's: they are reached on CUDA alone.

Private ones, which their file uses alone, and those that say CUDA in their name and that no other file of the tree names.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.rules.kernels import KERNEL

_HEAD = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)", re.MULTILINE)
_NEAR = 6
"""The functions above a change of which it may lie in one: others are nested in that."""
_PRIVATE = re.compile(r"_[a-zA-Z]\w*\Z")


def _is_of_its_file(file: File, name: str) -> bool:
    """Tell whether no other file uses a function or class of this name."""
    if _PRIVATE.match(name) is not None:
        return True
    return file.options.tree is not None and name in file.options.tree.cuda_alone


def behind_what_stays(file: File) -> dict[Span, str]:
    """Return those functions and classes in which something changes and that nothing uses but what stays, by their spans.

    A decorator may call a function, and so may who is handed it.
    """
    if not file.untouched or file.options.all or file.options.program:
        return {}
    python = file.python if _changes_a_private_one(file) else None
    if python is None:
        return {}
    found: dict[str, list[Span]] = {}
    for node in python.statements:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _is_of_its_file(file, node.name):
            span = python.span(node)
            if not node.decorator_list:
                found.setdefault(node.name, []).append(span)
    once = {name: spans[0] for name, spans in found.items() if len(spans) == 1}
    # As the code has them, in a string of it, too.
    uses = {name: list(_uses(file.code, name)) for name in once}
    stays = list(file.untouched)
    behind: dict[Span, str] = {}
    grown = True
    while grown:
        grown = False
        for name, span in once.items():
            outside = [at for at in uses[name] if not span[0] <= at < span[1]]
            if span in behind or not outside or span in stays:
                continue
            if all(any(low <= at < high for low, high in stays) for at in outside):
                behind[span] = name
                stays.append(span)
                grown = True
    changed = [start for start, _ in file.changes]
    return {
        span: name
        for span, name in behind.items()
        if any(span[0] <= start < span[1] for start in changed)
    }


def _uses(code: str, name: str) -> Iterator[int]:
    """Yield where a name stands as a word of its own, but where it is defined."""
    at = code.find(name)
    while at >= 0:
        end = at + len(name)
        around = code[at - 1 : at] + code[end : end + 1]
        if (
            not any(each.isalnum() or each == "_" for each in around)
            and code[at - 4 : at] != "def "
            and code[at - 6 : at] != "class "
        ):
            yield at
        at = code.find(name, end)


def _changes_a_private_one(file: File) -> bool:
    """Tell by the lines above the changes whether one may lie in such a function or class."""
    heads = [(found.start(), found[1]) for found in _HEAD.finditer(file.tree.source)]
    starts = [start for start, _ in heads]
    for start, _ in file.changes:
        column = file.tree.position(start)[1]
        # The function is the last one above that stands further to the left; of several, any may be it.
        for at, name in heads[max(0, (here := bisect_right(starts, start)) - _NEAR) : here]:
            if _is_of_its_file(file, name) and file.tree.position(at)[1] < max(column, 2):
                return True
    return False


def leave_them(file: File, behind: Mapping[Span, str]) -> None:
    """Leave these functions, and say so."""
    for span, name in behind.items():
        file.untouched.append(span)
        said = f"{name} is called by nothing but what stays CUDA's; left as it is"
        file.find_at(KERNEL, span[0], said, "note")
