"""The distributions, built once, and an empty virtual environment that holds the wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from importlib import metadata
from pathlib import Path

import pytest
from filelock import FileLock
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, *arguments: str, **environment: str) -> None:
    """Build the distributions, or those that the arguments name, into a folder."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    answer = subprocess.run(
        [*command, *arguments, str(ROOT)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from that sdist; one for all workers."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    folder = place / "dist"
    with FileLock(place / "dist.lock"):
        if not folder.exists():
            build(place / "building")
            (place / "building").rename(folder)
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(distributions: Path) -> Path:
    (found,) = distributions.glob("*.tar.gz")
    return found


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the Python of a virtual environment that holds nothing but the wheel, what it requires, and torch."""
    return environment(tmp_path_factory.mktemp("empty venv"), f"{wheel}[torch]")


@pytest.fixture(scope="session")
def with_codemod(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same with the extra that the codemod needs."""
    return environment(tmp_path_factory.mktemp("codemod venv"), f"{wheel}[codemod,torch]")


@pytest.fixture(scope="session")
def without_torch(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The codemod alone, as the pre-commit hooks have it."""
    return environment(tmp_path_factory.mktemp("hook venv"), f"{wheel}[codemod]")


def environment(place: Path, what: str, *, linked: bool = True) -> Run:
    """Make a virtual environment, in a folder with a blank in its path, and install ``what``.

    What that requires is linked from this environment, or torch alone would take a minute and a gigabyte:
    pip finds the requirements met. With ``linked=False`` it fetches them.
    """
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    executable = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if linked:
        (packages,) = [path for path in venv.rglob("site-packages") if path.is_dir()]
        wheel, _, extras = what.rstrip("]").partition("[")
        link(required(of_wheel(wheel), set(extras.split(","))), packages)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TDEV_", "PYTHON"))}
    env["TDEV_NATIVE_BUILD"] = "0"
    env["PATH"] = os.pathsep.join([str(executable.parent), env.get("PATH", "")])

    def run(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        command = [str(executable), *arguments]
        return subprocess.run(
            command, cwd=place, env={**env, **extra}, capture_output=True, text=True, timeout=500
        )

    pip = [sys.executable, "-m", "pip", "--python", str(executable), "install"]
    # The linked torch, whichever it is, meets the requirement; one that is fetched is the pinned one.
    pip += ["--no-index"] if linked else ["-c", str(ROOT / "constraints.txt")]
    command = [*pip, what]
    answer = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    return run


def of_wheel(wheel: str) -> list[str]:
    """What a wheel's own metadata requires; the installed project's may be of an older day."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name)).get_all("Requires-Dist") or []


def required(requirements: list[str], extras: set[str]) -> set[str]:
    """The distributions, installed here, that such lines require; and what those do."""
    found: set[str] = set()
    for line in requirements:
        requirement = Requirement(line)
        wanted = any(
            requirement.marker is None or requirement.marker.evaluate({"extra": extra})
            for extra in ("", *extras)
        )
        if wanted and requirement.name != "tdev":
            deeper = metadata.distribution(requirement.name).requires or []
            found |= {requirement.name, *required(deeper, requirement.extras)}
    return found


def link(names: set[str], packages: Path) -> None:
    """Put links to the files of distributions into another site-packages."""
    for name in sorted(names):
        distribution = metadata.distribution(name)
        for file in distribution.files or []:
            top = file.parts[0]
            if top != ".." and not (packages / top).exists():
                (packages / top).symlink_to(Path(str(distribution.locate_file(top))).resolve())
