"""Tells what was changed since the last commit that others have, and which tests are nearest to it.

Near is who names it: a test that imports a changed module comes first, also where the import stands in a
program that the test starts; then tests of what imports that module. The mirror is no step on such a way:
``import tdev`` reaches everything. pytest-testmon would know what a test really executes, but not in the
processes that half of these tests start, and only after a full run under coverage.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

PACKAGES = ("tdev_core", "generator", "tools", "benchmarks", "tests")
_FARTHEST = 3  # imports between a test and what was changed
_UNKNOWN_S = 5.0  # a file of tests that has not run here yet
_IMPORT = re.compile(
    rf"\b(?:from +((?:{'|'.join(PACKAGES)})[\w.]*) +import +(\([^)]*\)|[^\n]*)"
    rf"|import +((?:{'|'.join(PACKAGES)})[\w.]*))"
)


def changed(root: Path) -> list[str]:
    """Return the files that differ from where this branch left origin/main, or from the last commit without one."""

    def git(*arguments: str) -> list[str]:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True)
        return done.stdout.splitlines() if done.returncode == 0 else []

    base = git("merge-base", "HEAD", "origin/main") or ["HEAD"]
    found = git("diff", "--name-only", "--no-renames", base[0])
    return sorted({*found, *git("ls-files", "--others", "--exclude-standard")})


def nearest_tests(root: Path, files: Iterable[str]) -> list[str]:
    """Return the test files that the changed ``files`` concern, the nearest first."""
    importers = _importers(root)
    seen = set(files)
    step = sorted(seen)
    found: list[str] = []
    for _ in range(_FARTHEST):
        found += [file for file in step if _is_test(file) and (root / file).exists()]
        reached = {user for file in step for user in importers.get(file, ())} - seen
        seen |= reached
        step = sorted(reached)
    found += [file for file in step if _is_test(file)]
    others = [Path(file).name for file in files if not file.endswith((".py", ".pyi"))]
    return found + sorted(_mentioning(root, others) - set(found))


def within(seconds: float, tests: Iterable[str], logs: Path) -> tuple[list[str], list[str]]:
    """Return the first of ``tests`` that took so long together when they ran last, and those left out.

    The very first one is always in.
    """
    took = _durations(logs)
    chosen, left_out, total = list[str](), list[str](), 0.0
    for test in tests:
        one = took.get(test, _UNKNOWN_S)
        if chosen and total + one > seconds:
            left_out.append(test)
        else:
            chosen.append(test)
            total += one
    return chosen, left_out


def _is_test(file: str) -> bool:
    path = Path(file)
    return path.parts[0] == "tests" and path.name.startswith("test_") and path.suffix == ".py"


def _importers(root: Path) -> dict[str, set[str]]:
    """By file, the files that import it."""
    files = {}
    for package in PACKAGES:
        for path in (root / package).rglob("*.py"):
            name = path.relative_to(root).with_suffix("").as_posix().replace("/", ".")
            files[name.removesuffix(".__init__")] = path.relative_to(root).as_posix()
    beside: dict[str, list[str]] = {}  # tests import helpers of their folder by name alone
    for file in files.values():
        if file.startswith("tests/"):
            beside.setdefault(Path(file).stem, []).append(file)
    importers: dict[str, set[str]] = {}
    for file in files.values():
        text = (root / file).read_text(encoding="utf-8", errors="replace")
        for module in _imported(text):
            if module in files:
                importers.setdefault(files[module], set()).add(file)
        for helper in re.findall(r"^(?:from|import) +(\w+)", text, flags=re.M):
            for other in beside.get(helper, ()):
                if Path(other).parent == Path(file).parent:
                    importers.setdefault(other, set()).add(file)
    return importers


def _imported(text: str) -> set[str]:
    """Return the modules that a text imports, in statements or in programs that it holds."""
    found = set()
    for package, names, module in _IMPORT.findall(text):
        if module:
            found.add(module)
        else:
            parts = re.findall(r"(?:^|,)\s*(\w+)", names.strip("()"))
            found |= {package, *(f"{package}.{part}" for part in parts)}
    return found


def _mentioning(root: Path, names: list[str]) -> set[str]:
    """Tests that name one of these files, for what is not Python."""
    tests = [p for p in (root / "tests").rglob("test_*.py") if names]
    return {
        path.relative_to(root).as_posix()
        for path in tests
        if any(name in path.read_text(encoding="utf-8") for name in names)
    }


def _durations(logs: Path) -> dict[str, float]:
    """Return what each file of tests took in the last run, by pytest's own reports."""
    took: dict[str, float] = {}
    for report in logs.glob("tests-*.xml"):
        # pytest's own report of the last run
        for case in ElementTree.parse(report).getroot().iter("testcase"):  # nosec B314
            parts = case.get("classname", "").split(".")
            while parts and not parts[-1].startswith("test_"):
                parts.pop()  # classes
            file = "/".join(parts) + ".py"
            took[file] = took.get(file, 0.0) + float(case.get("time", "0"))
    return took
