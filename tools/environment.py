"""Makes the project's own virtual environment, .venv, and brings it up to date.

A stamp in it records what was installed from; a second run with the same pyproject.toml costs nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import os
import shutil
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

from tools import progress

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
# What decides, besides this Python, what an installation holds.
INSTALLED_FROM = ("pyproject.toml", "constraints.txt", "hatch_build.py", "tdev_core/shims/_calls.c")
CPU_INDEX = "https://download.pytorch.org/whl/cpu"  # torch's own, of builds without CUDA
_ANSWERS_WITHIN_S = 3.0


class SetupError(Exception):
    """The environment could not be made; the message says why and what to do."""


def venv_python(venv: Path = VENV) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def child_environment(**extra: str) -> dict[str, str]:
    """Return the environment for the project's commands: this tree importable, nothing of the caller's Python."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONHOME", "VIRTUAL_ENV")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "generated"), str(ROOT)])
    env["PYTHONUNBUFFERED"] = "1"
    env["PYTHONIOENCODING"] = "utf-8"
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    env.update(extra)
    return env


def cores() -> int:
    """Count the cores that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def ensure(extra: str) -> Path:
    """Makes sure that .venv holds the project with an optional dependency group; returns its Python.

    Raises SetupError when that fails, for want of a network for example.
    """
    python = venv_python()
    wanted = _fingerprint()
    stamp = VENV / f".tdev-{extra}"
    for sufficient in (stamp, VENV / ".tdev-dev"):  # dev holds every other group
        if python.exists() and sufficient.exists() and sufficient.read_text("utf-8") == wanted:
            return python
    progress.heading(f"setting up {VENV.relative_to(ROOT)} (once; torch is a large download)")
    try:
        if not _usable(python):
            shutil.rmtree(VENV, ignore_errors=True)
            progress.run_quietly("venv", [sys.executable, "-m", "venv", str(VENV)], cwd=ROOT)
        # torch first and by itself: pinned, so that nothing that follows replaces it.
        # NumPy with it: torch warns at the first tensor where it is missing.
        source = _source_of_torch(python)
        _pip_install(python, "torch and numpy", [*source, "-r", "constraints.txt", "numpy"])
        _pip_install(python, f"tdev[{extra}]", ["-c", "constraints.txt", "-e", f".[{extra}]"])
    except progress.StepFailed as failure:
        raise SetupError(_explain(failure)) from None
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _pip_install(python: Path, title: str, arguments: list[str]) -> None:
    # Of the 8,000 modules that come with torch a program imports a tenth: Python compiles those when it does.
    options = ["--progress-bar", "off", "--no-compile"]
    command = [str(python), "-m", "pip", "install", *options, *arguments]
    progress.run_quietly(f"pip install {title}", command, cwd=ROOT, env=child_environment())


def _source_of_torch(python: Path) -> list[str]:
    """Tell pip where torch comes from: without CUDA's libraries, where nothing could use them.

    Whoever has told pip of a package index, by variables or by its files, has decided that already.
    """
    if sys.platform != "linux" or _has_nvidia_driver() or _index_is_decided(python):
        return []
    if _answers(f"{CPU_INDEX}/torch/"):
        print(f"no NVIDIA driver: torch comes without CUDA's libraries, from {CPU_INDEX}")
        return ["--extra-index-url", CPU_INDEX]
    print(
        f"no NVIDIA driver, but {CPU_INDEX} did not answer within {_ANSWERS_WITHIN_S:.0f} s:"
        " torch comes with CUDA's libraries, which are gigabytes"
    )
    return []


def _has_nvidia_driver() -> bool:
    return Path("/proc/driver/nvidia").exists() or shutil.which("nvidia-smi") is not None


def _index_is_decided(python: Path) -> bool:
    """Tell whether the user's variables or pip's files name where packages come from."""
    command = [str(python), "-m", "pip", "config", "list"]
    told = subprocess.run(command, env=child_environment(), capture_output=True, text=True)
    names = [line.partition("=")[0].rpartition(".")[2] for line in told.stdout.splitlines()]
    return bool({"index-url", "extra-index-url", "find-links", "no-index"} & set(names))


def _answers(url: str) -> bool:
    """Tell whether a page comes in time, however a server may dawdle."""
    found: list[bool] = []

    def ask() -> None:
        with contextlib.suppress(OSError, ValueError, http.client.HTTPException):
            # The URL of an index, from this file or the user's settings.
            with urllib.request.urlopen(url, timeout=_ANSWERS_WITHIN_S) as page:  # nosec B310
                found.append(bool(page.read(1)))

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_ANSWERS_WITHIN_S)
    return found == [True]


def _fingerprint() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for name in INSTALLED_FROM:
        digest.update((ROOT / name).read_bytes())
    digest.update(str(ROOT).encode())  # a virtual environment does not survive being moved
    return digest.hexdigest()


def _usable(python: Path) -> bool:
    """Tell whether .venv is there, whole, of this Python version and made for this place."""
    if not python.exists():
        return False
    wanted = f"{sys.version_info[:2]} {VENV}"
    code = "import pip, sys; print(sys.version_info[:2], sys.prefix)"
    try:
        answer = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == wanted


def _explain(failure: progress.StepFailed) -> str:
    last = "\n".join(f"  {line[:150]}" for line in failure.output.splitlines()[-8:])
    text = f"{failure}. Its last lines were:\n{last}\n\n"
    lowered = failure.output.lower()
    if "no space left" in lowered:
        return (
            text
            + f"The disk is full: the environment in {VENV} needs 2 GB, or 6 GB with a CUDA build of torch."
        )
    if any(s in lowered for s in ("connection", "resolve host", "name resolution", "timed out")):
        return text + (
            "The package index could not be reached. Check the network, or name a mirror that can be"
            " reached: PIP_INDEX_URL=https://… python3 tools/try_it.py"
        )
    if "no matching distribution" in lowered:
        return text + (
            "pip found no such package for this Python and machine. The pinned torch has wheels for"
            " Python 3.10 to 3.14 on Linux, macOS (Apple silicon) and Windows. If everything is missing,"
            " the package index could not be reached: check the network, or set PIP_INDEX_URL."
        )
    if "ensurepip" in lowered:
        return (
            text
            + "This Python cannot make virtual environments; on Debian: apt install python3-venv"
        )
    return (
        text + "Mend what it names, then run the same command again: it goes on where it stopped."
    )
