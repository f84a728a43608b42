"""Hatchling's build hook: compile tdev_core/shims/_calls.c with the rest, where a C compiler is.

Without one, on a free-threaded Python, or with TDEV_PURE=1 in the environment, the distribution is pure
Python, whose calls take longer (see tdev_core/shims/calls.py).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "tdev_core/shims"
_NAME = "_calls"
_SETUP = """\
import sys
from setuptools import Extension, setup

name, digest = sys.argv[-2:]
del sys.argv[-2:]
options = [] if sys.platform == "win32" else ["-g0"]
setup(
    name=name,
    py_modules=[],
    ext_modules=[Extension(name, [name + ".c"], define_macros=[("TDEV_SOURCE", digest)], extra_compile_args=options)],
)
"""


class CallsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the compiled module to a wheel; for an editable installation it goes beside its source."""

    PLUGIN_NAME = "custom"
    _scratch: Path | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        package = Path(self.root, _PACKAGE)
        # The module relies on the global interpreter lock; calls.py would not import it.
        unlocked = sysconfig.get_config_var("Py_GIL_DISABLED")
        if os.environ.get("TDEV_PURE") == "1" or unlocked:
            if version == "editable":
                (package / f"{_NAME}{EXTENSION_SUFFIXES[0]}").unlink(missing_ok=True)
            return
        self._scratch = Path(tempfile.mkdtemp(prefix="tdev-build-"))
        try:
            library = _compile(package / f"{_NAME}.c", self._scratch)
            if version == "editable":
                # Replaced at one stroke: a process that has loaded the old one keeps it.
                new = package / f"{library.name}.{os.getpid()}.new"
                shutil.copyfile(library, new)
                os.replace(new, package / library.name)
                return
        except OSError as error:
            self.app.display_warning(f"tdev is installed without {_NAME}.c: {error}")
            return
        build_data["force_include"][str(library)] = f"{_PACKAGE}/{library.name}"
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)


def _compile(source: Path, scratch: Path) -> Path:
    """The library, made by setuptools in a process of its own.

    Raises:
        OSError: it cannot be made; what the compiler said is in the message.
    """
    shutil.copy(source, scratch)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    ran = subprocess.run(
        [sys.executable, "-c", _SETUP, "build_ext", "--inplace", _NAME, digest],
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    made = list(scratch.glob(f"{_NAME}*{EXTENSION_SUFFIXES[0]}"))
    if ran.returncode or not made:
        raise OSError("it could not be compiled:\n" + "\n".join(ran.stdout.splitlines()[-15:]))
    return made[0]
