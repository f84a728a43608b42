"""Plants a mutant in the memory of a process that has imported its file: the functions that are there get the changed code."""

from __future__ import annotations

import gc
from types import CodeType, FunctionType
from typing import Any

__all__ = ["adopt", "functions_below", "recoded"]


def functions_below(root: str) -> dict[str, list[FunctionType]]:
    """Return the functions of our sources by file."""
    found: dict[str, list[FunctionType]] = {}
    gc.unfreeze()  # the collector does not tell of what it was told to leave alone
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename.startswith(root):
            found.setdefault(one.__code__.co_filename, []).append(one)
    return found


def recoded(functions: list[FunctionType], path: str, before: str, now: str) -> bool:
    """Give ``functions`` the code of the source ``now``; False where one has no such code, or other closures."""
    changed: dict[CodeType, CodeType] = {}
    pairs = [
        tuple(compile(text, path, "exec", dont_inherit=True) for text in (before, now)),
    ]
    while pairs:
        old, new = pairs.pop()
        inner = [[c for c in code.co_consts if isinstance(c, CodeType)] for code in (old, new)]
        if [c.co_name for c in inner[0]] != [c.co_name for c in inner[1]]:
            return False
        pairs += [(a, b) for a, b in zip(*inner, strict=True)]
        if old != new:
            changed[old] = new
    try:
        for function in functions:
            code = changed.get(function.__code__)
            if code is not None:
                function.__code__ = code
    except ValueError:
        return False
    return True


def adopt(old: Any, new: Any) -> None:
    """Change a structure of JSON in place to what another of the same form holds."""
    pairs = old.items() if isinstance(old, dict) else enumerate(old)
    for key, value in list(pairs):
        if isinstance(value, (dict, list)):
            adopt(value, new[key])
        elif value != new[key]:
            old[key] = new[key]
