"""mypy --strict over everything, twice, because generated/tdev holds a stub beside each module.

mypy reads `x.pyi` and leaves `x.py` unread. So it runs once as users see the package, and once on a copy
without the stubs, which checks the bodies that the mirror runs.

    python -m tools.typecheck [FILE ...]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "typecheck"


# The packages that are held to mypy --strict, by the folder that they begin in.
CHECKED = {"generated": "tdev", "tdev_core": "tdev_core", "generator": "generator"}
CHECKED |= {"tools": "tools", "benchmarks": "benchmarks"}


# Definitions for torches that are not installed: their calls take what the installed torch's do not.
_OF_OTHER_TORCHES = re.compile(r"(?m)^if _torch_release >= |^# Torch \d")
_UNSEEN = '# mypy: disable-error-code="misc, call-arg, attr-defined"\n'


def main(files: list[str]) -> int:
    """Check everything, or ``files`` and what they import; returns mypy's exit status."""
    if files:
        return _mypy(files, [])
    packages = list(CHECKED.values())
    print(f"mypy --strict: {', '.join(packages)} (of tdev its stubs)", flush=True)
    first = _mypy([word for package in packages for word in ("-p", package)], [])
    copy_without_stubs(ROOT / "generated" / "tdev", COPY / "tdev")
    print("mypy --strict: tdev (the emitted modules)", flush=True)
    second = _mypy(["-p", "tdev"], [COPY])
    return first or second


def copy_without_stubs(source: Path, target: Path) -> None:
    """Copies a package, leaving out the stubs that stand beside a module."""
    shutil.rmtree(target, ignore_errors=True)

    def paired(folder: str, names: list[str]) -> set[str]:
        stubs = {n for n in names if n.endswith(".pyi") and n[:-1] in names}
        return stubs | {n for n in names if n == "__pycache__"}

    shutil.copytree(source, target, ignore=paired)
    for path in target.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if _OF_OTHER_TORCHES.search(text):
            path.write_text(text + _UNSEEN, encoding="utf-8")


def _mypy(what: list[str], first_on_the_path: list[Path]) -> int:
    # MYPYPATH comes before mypy_path of pyproject.toml.
    env = dict(os.environ, MYPYPATH=os.pathsep.join(map(str, first_on_the_path)))
    command = [sys.executable, "-m", "mypy", "--strict", "--enable-error-code", "exhaustive-match"]
    return subprocess.run([*command, *what], cwd=ROOT, env=env).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
