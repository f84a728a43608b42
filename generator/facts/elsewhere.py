"""Record the facts of a torch that is not installed: in an environment made for it, and removed again.

    python -m generator.facts --torch 2.15.0

pip fetches the wheel with all that it requires, several gigabytes; reading it takes half a minute. Its Python files stay in
``build/torch-2.15.0``, for a person who has to decide what a new name means.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from generator.facts import deltas
from generator.facts.cache import from_json, introspect
from generator.facts.model import Facts
from generator.facts.pin import PINNED, FactsError

__all__ = ["keep_sources", "record"]

_ROOT = Path(__file__).resolve().parent.parent.parent
# numpy and PyYAML: torch without the first is another library, and the facts are read with the second.
_BESIDE = ("numpy", "pyyaml")
_READ = """
import json, sys
from generator.facts.cache import as_json, introspect
print(json.dumps(as_json(introspect(cache=False, allow_version=True))))
"""


def record(version: str) -> Path:
    """Write what differs in torch ``version`` from the installed, pinned one; return the file.

    Raises:
        FactsError: it is no release, or the pinned one, or its environment cannot be made or read.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise FactsError(f"{version!r} is not a release of torch; give all three numbers: 2.15.0.")
    if version == PINNED:
        raise FactsError(
            f"torch {PINNED} is the pinned one; its facts are read where it is installed."
        )
    for known in (PINNED, *deltas.recorded()):
        if known != version and known.rpartition(".")[0] == version.rpartition(".")[0]:
            raise FactsError(
                f"torch {version} is read as {known}, which the catalog is of: a patch release has its names and "
                f"signatures. `nox -s other_torch -- {version}` tells whether that holds."
            )
    base = introspect()
    with tempfile.TemporaryDirectory(prefix="torch-") as folder:
        facts = _read(version, Path(folder))
        keep_sources(Path(folder), _ROOT / "build" / f"torch-{version}")
    path = deltas.path_of(version)
    new = path.with_name(f"{path.name}.new")  # half a file would pass for a recorded torch
    new.write_text(deltas.dumps(deltas.difference(base, facts)), encoding="utf-8", newline="\n")
    return new.replace(path)


def _read(version: str, folder: Path) -> Facts:
    print(
        f"pip installs torch {version} into {folder}: gigabytes, minutes",
        file=sys.stderr,
        flush=True,
    )
    venv.create(folder, with_pip=True)
    scripts = "Scripts" if sys.platform == "win32" else "bin"
    python = str(folder / scripts / "python")
    wanted = [f"torch=={version}", *_BESIDE]
    pip = [
        python,
        "-m",
        "pip",
        "install",
        "--progress-bar",
        "off",
        "--disable-pip-version-check",
        *wanted,
    ]
    done = subprocess.run(pip, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FactsError(
            f"torch {version} could not be installed: {why(done.stderr + done.stdout)}"
        )
    print(f"reading torch {version}", file=sys.stderr, flush=True)
    read = [python, "-c", _READ]
    done = subprocess.run(read, cwd=_ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise FactsError(f"torch {version} could not be read: {last}")
    return from_json(json.loads(done.stdout.splitlines()[-1]))


def keep_sources(environment: Path, into: Path) -> None:
    """Copy the Python files of the torch of an environment, some tens of megabytes."""
    shutil.rmtree(into, ignore_errors=True)
    for home in environment.glob("[Ll]ib/**/site-packages/torch"):
        for path in home.rglob("*.py*"):
            if path.suffix in (".py", ".pyi"):
                target = into / path.relative_to(home.parent)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)


def why(said: str) -> str:
    """Return the reason among what pip said; of the releases that it found the newest ones.

    What it could not reconcile it tells in other lines than its error: a constraint of this machine, for one.
    """
    caused = re.search(r"The conflict is caused by:\n((?:    .*\n)+)", said)
    if caused is not None:
        return f"what is wanted conflicts: {'; '.join(map(str.strip, caused[1].splitlines()))}"
    errors = [line for line in said.splitlines() if line.startswith("ERROR: ")]
    releases = re.search(r"\(from versions: (.*)\)", said)
    if releases is None:
        return errors[0] if errors else "pip gives no reason"
    if releases[1] == "none":
        return "pip found no torch at all: is its index reached from here?"
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    newest = ", ".join(releases[1].split(", ")[-4:])
    return f"pip finds no such release for Python {python}; the newest that it finds: {newest}"
