"""mypy --strict over everything, twice, because generated/tdev holds a stub beside each module.

mypy reads `x.pyi` and leaves `x.py` unread. So it runs once on a copy without the stubs, which checks the bodies
that the mirror runs, and once as users see the package.

    python -m tools.typecheck [FILE ...]
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from tdev_core.release import release_of

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "typecheck"


# The packages that are held to mypy --strict, by the folder that they begin in.
CHECKED = {"generated": "tdev", "tdev_core": "tdev_core", "generator": "generator"}
CHECKED |= {"tools": "tools", "benchmarks": "benchmarks"}
OPTIONS = ("--strict", "--enable-error-code", "exhaustive-match")


def main(files: list[str]) -> int:
    """Check everything, or ``files`` and what they import; returns mypy's exit status."""
    if files:
        return _mypy(files, [])
    copy_without_stubs(ROOT / "generated" / "tdev", COPY / "tdev")
    print("mypy --strict: tdev (the emitted modules)", flush=True)
    first = _mypy([str(COPY / "tdev")], [COPY])
    # Last: what follows reads the cache, and users see the stubs.
    print(f"mypy --strict: {', '.join(CHECKED.values())} (of tdev its stubs)", flush=True)
    places = (folder if folder == name else f"{folder}/{name}" for folder, name in CHECKED.items())
    second = _mypy([*places], [])
    return first or second


def copy_without_stubs(source: Path, target: Path) -> None:
    """Copies a package, leaving out the stubs that stand beside a module."""
    shutil.rmtree(target, ignore_errors=True)

    def paired(folder: str, names: list[str]) -> set[str]:
        stubs = {n for n in names if n.endswith(".pyi") and n[:-1] in names}
        return stubs | {n for n in names if n == "__pycache__"}

    shutil.copytree(source, target, ignore=paired)
    installed = release_of(metadata.version("torch"))
    for path in target.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        ours = for_torch(text, installed)
        if ours != text:
            path.write_text(ours, encoding="utf-8")


_RELEASES = re.compile(r"# Torch (\d+\.\d+)(?: and (\S+))?\.$")


def for_torch(text: str, installed: tuple[int, int]) -> str:
    """Return a module without what only other torches run, whose calls mypy cannot know; every line keeps its number.

    Of ``if _torch_release >= …`` the form stays that the installed torch takes; a definition under a comment that says
    other torches keeps its signature and loses its body.
    """
    lines = text.splitlines(keepends=True)
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.If) and "_torch_release" in ast.unparse(statement.test):
            _keep_taken(lines, statement, installed)
        elif isinstance(statement, ast.FunctionDef | ast.ClassDef):
            decorators = statement.decorator_list
            first = decorators[0].lineno if decorators else statement.lineno
            of = _RELEASES.match(lines[first - 2].rstrip())
            if of is not None and not _among(installed, of):
                _drop_bodies(lines, statement)
    return "".join(lines)


def _among(installed: tuple[int, int], of: re.Match[str]) -> bool:
    release, more = release_of(of[1]), of[2]
    if more == "newer":
        return installed >= release
    if more == "older":
        return installed <= release
    return installed in (release, release_of(more or ""))


def _keep_taken(lines: list[str], chain: ast.If, installed: tuple[int, int]) -> None:
    branch: list[ast.stmt] = [chain]
    while branch and isinstance(branch[0], ast.If):
        part = branch[0]
        assert isinstance(part.test, ast.Compare) and isinstance(part.test.ops[0], ast.GtE), chain
        if installed >= ast.literal_eval(part.test.comparators[0]):
            branch = part.body
            break
        branch = part.orelse
    kept = range(branch[0].lineno, (branch[-1].end_lineno or 0) + 1) if branch else range(0)
    for number in range(chain.lineno, (chain.end_lineno or 0) + 1):
        if number not in kept:
            lines[number - 1] = "\n"
    lines[chain.lineno - 1] = "if True:\n" if branch else "\n"


def _drop_bodies(lines: list[str], definition: ast.stmt) -> None:
    for part in ast.walk(definition):
        if isinstance(part, ast.FunctionDef):
            first, last = part.body[0], part.body[-1]
            for number in range(first.lineno, (last.end_lineno or 0) + 1):
                lines[number - 1] = "\n"
            lines[first.lineno - 1] = " " * first.col_offset + "raise NotImplementedError\n"


def _mypy(what: list[str], first_on_the_path: list[Path]) -> int:
    """Run mypy on files and folders.

    Not on packages by name (``-p``): mypy then reads what pyproject.toml says of single modules before it knows which
    errors are enabled, has other options for torch than in a run on files, and reads all of it again.
    """
    # MYPYPATH comes before mypy_path of pyproject.toml.
    env = dict(os.environ, MYPYPATH=os.pathsep.join(map(str, first_on_the_path)))
    command = [sys.executable, "-m", "mypy", *OPTIONS, *what]
    return subprocess.run(command, cwd=ROOT, env=env).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
