"""Has the native kernels built by a process of its own, while the first program runs that they would make faster.

What always holds:

- The program waits for nothing: the other process is started on a thread, lowers its own priority, and outlives the
  program. It writes nothing to the terminal.
- One process builds, however many programs start: the first to make a file beside the library's place. The file goes
  when the library is there. Where that fails it stays, with the reason in it, and for a day nobody tries again.
- What is found in the library's place is whole: it is compiled elsewhere and put there in one step.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from importlib.util import find_spec
from pathlib import Path

from tdev_core import caches, settings
from tdev_core.accelerators.privateuse import native
from tdev_core.accelerators.privateuse.native import BuildError, Library

__all__ = ["LIBRARY", "begin", "remark", "work"]

LIBRARY = Library("mlx")

_DAY = 24 * 3600.0
_SAID = (
    "tdev: the C++ kernels of device mlx are being built in the background, once, which takes about a minute; "
    "programs that start after that are faster. TDEV_NATIVE_BUILD=0 leaves it to: python -m tdev native"
)
# Without the folder that it is started in, where anybody may have put a module: what the program imports from.
_CHILD = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tdev_core.accelerators.mlx.native import background; sys.exit(background.work())"
)
_LONGEST_REASON = 2000


def begin() -> bool:
    """Start to build, and say so, if this machine can, nobody else has begun and nobody has switched it off."""
    if not settings.flag("TDEV_NATIVE_BUILD") or not _can_build():
        return False
    try:
        claim = LIBRARY.claim()
        if not caches.claim(claim, seconds=_DAY):
            return False
    except (BuildError, OSError):  # nowhere to keep it: `python -m tdev native` says why
        return False
    threading.Thread(target=_start, args=(claim,), name="tdev-native", daemon=True).start()
    if sys.stderr is not None:
        print(_SAID, file=sys.stderr)
    return True


def work() -> int:
    """Build in this process, which is there for that alone; returns its exit status."""
    if hasattr(os, "nice"):
        os.nice(15)
    try:
        LIBRARY.build()
    except Exception as error:  # whatever it is, the next program must not run into it at once
        reason = str(error)[-_LONGEST_REASON:].encode()
        caches.write(LIBRARY.claim(), reason)
        return 1
    return 0


def remark() -> str:
    """Say in a few words what has become of the build of a library that is not there; empty if none was begun.

    Raises:
        Refused: another user could have written what is said.
    """
    try:
        reason = caches.read(LIBRARY.claim()).decode(errors="replace").strip()
    except caches.Refused:
        raise
    except OSError:
        return ""
    if not reason:
        return "native ones are being built in the background"
    last = reason.splitlines()[-1]
    return f"native ones could not be built in the background ({last}): python -m tdev native"


def _can_build() -> bool:
    """Tell whether this is a Python that another can be started of, with all that compiling takes."""
    if getattr(sys, "frozen", False) or "python" not in Path(sys.executable or "").name.lower():
        return False  # an application with Python in it would start itself once more
    compiler = os.environ.get("CXX") or ("cl" if sys.platform == "win32" else "c++")
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return (
        native.supported()
        and shutil.which(compiler.split()[0]) is not None
        and headers.is_file()
        and find_spec("setuptools") is not None
    )


def _start(claim: Path) -> None:
    """Run the other process, and wait for it here, so that a program that ends before it is over leaves it alone."""
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NO_WINDOW | subprocess.IDLE_PRIORITY_CLASS
    found = [path for path in sys.path if os.path.isabs(path)]
    try:
        subprocess.run(
            [sys.executable, "-I", "-c", _CHILD, json.dumps(found)],
            # The same library is meant, and no device is needed to make it.
            env={**os.environ, "TDEV_NATIVE_BUILD": "0", "TDEV_BACKEND": "cpu"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            start_new_session=True,  # which Windows has no notion of
            creationflags=flags,
        )
    except OSError:
        caches.release(claim)
