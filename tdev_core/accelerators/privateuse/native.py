"""Builds and loads a device's native kernels, which ``python -m tdev native`` does once for each torch and each Python.

A library is bound to one torch and one Python, so that no wheel could carry it: the build needs a C++ compiler and what
torch installs.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import Any

from tdev_core import caches, settings
from tdev_core.errors import TdevError

__all__ = ["BuildError", "Library", "main", "supported"]

_DEVICES = ("mlx", "sim")
_LINES_OF_LOG = 20
_KEPT = 16  # libraries, each for one device, one torch and one Python, of which the ones built last stay
# Python's own flags ask for debug information, which takes most of the file and of the time.
_OPTIONS = [] if sys.platform == "win32" else ["-g0"]
_SETUP = """
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name={name!r},
    py_modules=[],
    ext_modules=[CppExtension({name!r}, [{source!r}], extra_compile_args={options!r})],
    cmdclass={{"build_ext": BuildExtension.with_options(use_ninja=False)}},
)
"""


class BuildError(TdevError):
    """The native kernels could not be built; the message says what is missing."""


def supported() -> bool:
    """Tell whether this Python can have native kernels."""
    # Their counters rely on the GIL, and THPStorage_Wrap on CPython.
    return platform.python_implementation() == "CPython" and not sysconfig.get_config_var(
        "Py_GIL_DISABLED"
    )


@dataclass(frozen=True)
class Library:
    """The native kernels of ``device``: C++ in its folder ``native``, of which ``native.cpp`` is compiled."""

    device: str

    @property
    def name(self) -> str:
        """Return the name of the module that the library is."""
        return f"tdev_{self.device}_native"

    @property
    def sources(self) -> tuple[Path, ...]:
        """Return the files that it is made of; the last is the one that is compiled."""
        folder = Path(__file__).parents[1] / self.device / "native"
        return (*sorted(folder.glob("*.h")), folder / "native.cpp")

    def _setup(self) -> str:
        return _SETUP.format(name=self.name, source=self.sources[-1].name, options=_OPTIONS)

    def location(self) -> Path:
        """Say where the library for this Python, this torch and this source is, or would be.

        Raises:
            BuildError: there is no directory for caches.
        """
        import torch  # `python -m tdev native --help` answers without it

        folder = caches.directory("native")
        if folder is None:
            raise BuildError(
                "there is no directory to keep the native kernels in: set TDEV_CACHE_DIR to one, "
                "or run: pip install platformdirs"
            )
        # Whatever the library depends on, because it is looked for by its name alone: an old one is not found.
        made_for = (
            torch.__version__,
            torch.version.git_version,
            sysconfig.get_platform(),
            sys.implementation.cache_tag,
        )
        text = repr(made_for) + self._setup()
        text += "".join(source.read_text(encoding="utf-8") for source in self.sources)
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        return folder / f"{self.name}-{digest}{EXTENSION_SUFFIXES[0]}"

    def claim(self) -> Path:
        """Say where a process that builds the library in the background tells others that it does."""
        library = self.location()
        return library.with_name(f"{library.name}.building")

    def build(self, *, force: bool = False) -> Path:
        """Compile the library where that has not been done; returns its path.

        Two processes may build at once: each has a directory of its own, and the last one's library stays.

        Raises:
            BuildError: this Python cannot have it, the compiler is missing or fails, or the directory cannot be written.
        """
        if not supported():
            raise BuildError("native kernels need CPython with its global interpreter lock")
        target = self.location()
        try:
            if caches.holds(target) and not force:
                return target
            caches.ours(target.parent)  # a minute before there is something to write
            # Not in the cache: a compiler follows names, and whoever can rename what is above the cache
            # could put other sources under ours.
            with tempfile.TemporaryDirectory(prefix="tdev-building-") as scratch:
                caches.write(target, self.compile(Path(scratch)).read_bytes())
            caches.release(self.claim())
        except caches.Refused as error:
            raise BuildError(str(error)) from error
        except OSError as error:
            raise BuildError(
                f"{error.filename or target.parent} cannot be written ({error.strerror or error}): set TDEV_CACHE_DIR "
                "to a directory that can"
            ) from error
        caches.trim(target.parent, Path(EXTENSION_SUFFIXES[0]).suffix, files=_KEPT)
        return target

    def compile(self, scratch: Path) -> Path:
        """Make the library by setuptools in a process of its own: setuptools changes the one that it runs in."""
        for source in self.sources:
            shutil.copy(source, scratch)
        (scratch / "setup.py").write_text(self._setup(), encoding="utf-8")
        ran = subprocess.run(
            [sys.executable, "setup.py", "build_ext", "--inplace"],
            cwd=scratch,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        made = list(scratch.glob(f"{self.name}*{EXTENSION_SUFFIXES[0]}"))
        if ran.returncode or not made:
            said = "\n".join(ran.stdout.strip().splitlines()[-_LINES_OF_LOG:])
            raise BuildError(
                f"the native kernels could not be built. Is there a C++ compiler (macOS: xcode-select --install; "
                f"Debian and Ubuntu: apt install g++)? It said:\n{said}"
            )
        return made[0]

    def load(self) -> Any:
        """Load the library that is there, if nobody else can have written it.

        Raises:
            Refused: another user could have.
            ImportError: it is damaged.
        """
        path = self.location()
        with caches.loading(path) as name:
            loader = ExtensionFileLoader(self.name, name)
            spec = importlib.util.spec_from_file_location(self.name, name, loader=loader)
            assert spec is not None
            library = importlib.util.module_from_spec(spec)
            loader.exec_module(library)
        library.__file__ = str(path)
        return library


_USAGE = """usage: python -m tdev native [mlx | sim] [--force]

Builds the C++ kernels of device mlx or sim for this Python and this torch, once; they are used from then on. Without
a name it is the device that TDEV_BACKEND names, else mlx.
TDEV_NATIVE=0 leaves them out; TDEV_NATIVE_BUILD=0 keeps the first program on device mlx from building them in the
background. TDEV_CACHE_DIR says where they are kept.
"""


def main(argv: list[str]) -> int:
    """Run the command ``python -m tdev native``; returns the exit status."""
    asked = os.environ.get("TDEV_BACKEND", "")
    device = asked if asked in _DEVICES else _DEVICES[0]
    options = list(argv)
    if options and options[0] in _DEVICES:
        device = options.pop(0)
    if options not in ([], ["--force"]):
        help_asked = options[0] in ("-h", "--help")
        print(_USAGE, end="", file=sys.stdout if help_asked else sys.stderr)
        return 0 if help_asked else 2
    library, force = Library(device), bool(options)
    began = time.monotonic()
    try:
        path = library.location()
        if not force and caches.holds(path):
            print(f"built before: {path}")
            return 0
        print(
            f"building the native kernels of device {device}, which takes about a minute …",
            flush=True,
        )
        library.build(force=force)
    except (BuildError, caches.Refused) as error:
        print(f"tdev: {error}", file=sys.stderr)
        return 2
    print(f"built in {time.monotonic() - began:.0f} s: {path}")
    if not settings.flag("TDEV_NATIVE"):
        print("TDEV_NATIVE=0 is set: they are not used until it is unset.")
    return 0
