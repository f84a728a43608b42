"""Tells which files are a project's tests: what pytest or unittest runs, and what lies beside that for it.

By what stands in the files, and not by their names alone: ``test.py`` and ``test_model.py`` are often programs that
evaluate a model. The answer for a file is the same whichever files a run is given.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_FOLDER = re.compile(r"_?(?:unit_?|integration_?)?tests?(?:_utils?|_helpers?)?|_?testing")
_NAME = re.compile(r"(?:test_\w+|\w+_tests?|tests?)\.py")
# The harness by which the rest is run: a program that evaluates imports none.
_HARNESS = re.compile(
    rb"^[ \t]*(?:import|from)[ \t]+(?:pytest|unittest|absl\.testing|torch\.testing\._internal)\b",
    re.MULTILINE,
)
_COLLECTED = re.compile(
    rb"^(?:async[ \t]+)?def[ \t]+test_\w+\(|^class[ \t]+Test\w*\b", re.MULTILINE
)
_STARTS = re.compile(rb"^if[ \t]+__name__[ \t]*==", re.MULTILINE)
# A test that takes nothing and asserts, which runs under CTest or by hand as it does under pytest. What evaluates a model is given it.
_ASSERTS = re.compile(
    rb"^([ \t]*)def[ \t]+test_\w+\([ \t]*(self)?[ \t]*\)[^\n]*\n(?:(?:\1[ \t]+\S[^\n]*|[ \t\r]*)\n)*?\1[ \t]+assert\b",
    re.MULTILINE,
)
_CLASS = re.compile(
    rb"^(?P<indent>[ \t]*)class[ \t]+(?P<name>\w+)[ \t]*(?:\((?P<bases>[^()]*)\))?", re.MULTILINE
)
_ROOTS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")
_UP = 5
"""The folders above a file among which one of tests is looked for."""


def is_of_a_suite(path: Path, raw: bytes) -> bool:
    """Tell whether a file is a test that a harness runs, or lies in a folder of such: ``tests/``, ``pkg/testing/``."""
    return path.name == "conftest.py" or _is_a_test(path, raw) or _is_among_tests(path.parent)


@lru_cache(maxsize=4096)
def _is_among_tests(directory: Path) -> bool:
    """Tell whether a folder is one of tests, or lies in one of the same project."""
    for folder in [directory, *directory.parents][:_UP]:
        if _FOLDER.fullmatch(folder.name) and _holds_tests(folder):
            return True
        if any(os.path.exists(folder / name) for name in _ROOTS):
            break  # what lies above is no part of the project
    return False


def is_run_by_a_harness(name: str, raw: bytes) -> bool:
    """Tell whether pytest or unittest takes a file of this name and text for a test."""
    if _NAME.fullmatch(name) is None:
        return False
    if _HARNESS.search(raw) is not None:
        return True
    named = name not in ("test.py", "tests.py")
    return named and _COLLECTED.search(raw) is not None and _STARTS.search(raw) is None


@lru_cache(maxsize=4096)
def _holds_tests(folder: Path) -> bool:
    for path in _modules(folder):
        try:
            raw = path.read_bytes()
        except OSError:
            continue
        if _HARNESS.search(raw) is not None or _is_a_test(path, raw):
            return True
    return False


def _is_a_test(path: Path, raw: bytes) -> bool:
    """Tell whether a harness runs a file, or it lies in ``tests`` and runs such tests itself: ``if __name__ == "__main__": test_it()``."""
    if is_run_by_a_harness(path.name, raw):
        return True
    return (
        path.name.startswith("test_")
        and path.parent.name == "tests"
        and _NAME.fullmatch(path.name) is not None
        and any(found[2] is None or _is_of_a_case(raw, found) for found in _ASSERTS.finditer(raw))
    )


def _is_of_a_case(raw: bytes, method: re.Match[bytes]) -> bool:
    """Tell whether a method is one of a class of tests, by its name or its base: what evaluates may keep its model itself."""
    around = [
        each
        for each in _CLASS.finditer(raw, 0, method.start())
        if len(each["indent"]) < len(method[1])
    ]
    if not around:
        return False
    return around[-1]["name"].startswith(b"Test") or b"TestCase" in (around[-1]["bases"] or b"")


def _modules(folder: Path) -> Iterator[Path]:
    """Yield the modules in a folder that are of no other folder of tests below it: what those hold speaks for themselves."""
    for directory, below, names in os.walk(folder):
        below[:] = sorted(
            name for name in below if name[0] != "." and _FOLDER.fullmatch(name) is None
        )
        yield from (Path(directory, name) for name in sorted(names) if name.endswith(".py"))
