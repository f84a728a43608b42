"""Ask mypy or pyright for the type of every name, through torch and through tdev, and compare.

    PYTHONPATH=generated:. python tests/parity/reveal.py [--checker mypy|pyright] [--every N]

Exit status: 0 nothing differs but what TYPES.md accepts, 1 something does.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.catalog import catalog
from tools import typecheck

ROOT = Path(__file__).resolve().parent.parent.parent
# Options of mypy, by whose they are. The project's are those of `tools.typecheck`, which has read all of torch under them.
# What was read under other options would be read again: each has a cache.
OPTIONS = {
    "project": typecheck.OPTIONS,
    "plain": ("--config-file=", "--cache-dir", str(ROOT / "build" / "mypy-plain")),
    "strict": ("--config-file=", "--strict", "--cache-dir", str(ROOT / "build" / "mypy-strict")),
}
_ACCEPTED = re.compile(r"^- `(torch[\w.]*)` \(([\w, ]+)\): (.+)$", re.MULTILINE)
# The one class of differences that TYPES.md accepts as a whole.
_NOT_EXPORTED = re.compile(r'^"\w+" is not exported from module "')

__all__ = ["OPTIONS", "accepted", "differences", "modules", "mypy"]


def modules() -> dict[str, list[str]]:
    """Names that a type checker sees in each torch module, in the public ones and then in private ones."""
    seen = {name: row["typed"] for name, row in catalog()["modules"].items()}
    seen |= {name: row["names"] for name, row in catalog()["private"].items()}
    return {name: [n for n in names if n.isidentifier()] for name, names in seen.items() if names}


def accepted(checker: str) -> dict[str, str]:
    """The differences that TYPES.md lists for ``checker``, each with its reason."""
    text = (ROOT / "tests" / "parity" / "TYPES.md").read_text(encoding="utf-8")
    return {
        name: why for name, which, why in _ACCEPTED.findall(text) if checker in which.split(", ")
    }


def program(api: str, module: str, names: Iterable[str]) -> str:
    """A file that asks for the type of each name, one a line, from the third line on."""
    # Not `from … import`: a package may have deleted its submodule's name, or bound another there.
    start = f"import {api}{module[len('torch') :]} as m"
    return "\n".join([start, "", *(f"reveal_type(m.{name})" for name in names), ""])


def differences(
    chosen: dict[str, list[str]], checker: str, options: str = "plain"
) -> dict[str, tuple[str, str]]:
    """What the checker says differently: through torch, and through tdev; mypy with these :data:`OPTIONS`."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number, (module, names) in enumerate(chosen.items()):
            for api in ("torch", "tdev"):
                (folder / f"{api}_{number}.py").write_text(program(api, module, names))
        told = _mypy(folder, options) if checker == "mypy" else _pyright(folder)
    found: dict[str, tuple[str, str]] = {}
    for number, (module, names) in enumerate(chosen.items()):
        for line, name in enumerate(names, 3):
            theirs, ours = (told.get((f"{api}_{number}.py", line), "") for api in ("torch", "tdev"))
            if theirs != ours or not theirs:
                found[f"{module}.{name}"] = (theirs, ours)
    return found


def mypy(folder: Path, options: str, *more: str) -> subprocess.CompletedProcess[str]:
    """Run mypy on the files of a folder, with some of :data:`OPTIONS` and some more.

    From the root of the repository: mypy's cache knows files by their paths from there.
    """
    files = sorted(str(path) for path in folder.glob("*.py"))
    command = [sys.executable, "-m", "mypy", "--no-error-summary", *OPTIONS[options], *more]
    path = os.pathsep.join(map(str, (folder, ROOT / "generated", ROOT)))
    env = {**os.environ, "MYPYPATH": path, "PYTHONPATH": path}
    return subprocess.run([*command, *files], cwd=ROOT, env=env, capture_output=True, text=True)


def _mypy(folder: Path, options: str) -> dict[tuple[str, int], str]:
    done = mypy(folder, options, "--hide-error-context")
    if done.returncode > 1 or done.stderr:
        raise RuntimeError(done.stderr or done.stdout[-2000:])
    lines = re.findall(r"^(.+\.py):(\d+): (.*)$", done.stdout, re.MULTILINE)
    return _joined((Path(file).name, int(line), text) for file, line, text in lines)


def _pyright(folder: Path) -> dict[tuple[str, int], str]:
    settings = {"extraPaths": [str(ROOT / "generated"), str(ROOT)], "typeCheckingMode": "basic"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run([*command, "-p", str(folder)], cwd=folder, capture_output=True, text=True)
    if not done.stdout.startswith("{"):
        raise RuntimeError(done.stderr or done.stdout[-2000:])
    return _joined(
        (Path(row["file"]).name, row["range"]["start"]["line"] + 1, row["message"])
        for row in json.loads(done.stdout)["generalDiagnostics"]
    )


def _joined(rows: Iterable[tuple[str, int, str]]) -> dict[tuple[str, int], str]:
    told: dict[tuple[str, int], str] = {}
    for file, line, text in rows:
        if _NOT_EXPORTED.search(text):
            continue
        # Modules are called by the path they were reached at.
        text = re.sub(r"\btdev\b", "torch", text)
        text = re.sub(r'Module\("[.\w]*?(\w+)"\)', r'Module("\1")', text)  # relative, or in full
        told[file, line] = f"{told.get((file, line), '')}{text}\n"
    return told


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checker", choices=["mypy", "pyright"], default="mypy")
    parser.add_argument("--every", type=int, default=1, help="take every n-th module only")
    options = parser.parse_args(argv)
    chosen = dict(list(modules().items())[:: options.every])
    found = differences(chosen, options.checker)
    known = accepted(options.checker)
    new = {name: pair for name, pair in found.items() if name not in known}
    for name, (theirs, ours) in sorted(new.items()):
        print(f"{name}\n  torch: {theirs.strip()}\n  tdev:  {ours.strip()}")
    names = sum(len(items) for items in chosen.values())
    print(
        f"{options.checker}: {len(chosen)} modules, {names} names, {len(new)} different, "
        f"{len(found) - len(new)} accepted"
    )
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
