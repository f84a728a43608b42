"""The way to the kernels of device ``mlx`` in C++: built once by ``python -m tdev native``, used from then on.

It stands before the Python wrappers of the kernels (see native.cpp) and takes less than half of their time. The library
is bound to one torch and one Python, so that no wheel could carry it: the build needs a C++ compiler and what torch
installs. Without it everything works, by Python alone.
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
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from typing import Any

from tdev_core import caches, settings
from tdev_core.errors import TdevError, warn_once

__all__ = [
    "BuildError",
    "answered",
    "before",
    "build",
    "location",
    "main",
    "start",
    "state",
    "using",
    "view",
]

_SOURCE = Path(__file__).with_suffix(".cpp")
_NAME = "tdev_mlx_native"
_LINES_OF_LOG = 20
# Python's own flags ask for debug information, which takes most of the file and of the time.
_OPTIONS = [] if sys.platform == "win32" else ["-g0"]
_SETUP = f"""
from setuptools import setup
from torch.utils.cpp_extension import BuildExtension, CppExtension

setup(
    name={_NAME!r},
    py_modules=[],
    ext_modules=[CppExtension({_NAME!r}, [{_SOURCE.name!r}], extra_compile_args={_OPTIONS!r})],
    cmdclass={{"build_ext": BuildExtension.with_options(use_ninja=False)}},
)
"""

_loaded: Any = None

_USAGE = """usage: python -m tdev native [--force]

Builds the C++ kernels of device mlx for this Python and this torch, once; they are used from then on.
TDEV_NATIVE=0 leaves them out. TDEV_CACHE_DIR says where they are kept.
"""


class BuildError(TdevError):
    """The native kernels could not be built; the message says what is missing."""


def location() -> Path:
    """Where the library for this Python, this torch and this source is, or would be.

    Raises:
        BuildError: there is no directory for caches.
    """
    import torch

    folder = caches.directory("native")
    if folder is None:
        raise BuildError(
            "there is no directory to keep the native kernels in: set TDEV_CACHE_DIR to one, "
            "or run: pip install platformdirs"
        )
    # Whatever the library depends on, because it is looked for by its name alone.
    made_for = (
        torch.__version__,
        torch.version.git_version,
        sysconfig.get_platform(),
        sys.implementation.cache_tag,
    )
    text = repr(made_for) + _SETUP + _SOURCE.read_text(encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return folder / f"{_NAME}-{digest}{EXTENSION_SUFFIXES[0]}"


def state() -> str:
    """In a few words, for a person: whether the native kernels are in use, and how they come to be."""
    if not settings.flag("TDEV_NATIVE"):
        return "Python kernels (TDEV_NATIVE=0)"
    if not _supported():
        return "Python kernels (this Python cannot have native ones)"
    try:
        built = location().exists()
    except BuildError as error:
        return f"Python kernels ({error})"
    return "native kernels" if built else "Python kernels; faster: python -m tdev native"


def _supported() -> bool:
    # Their counters rely on the GIL, and THPStorage_Wrap on CPython.
    return platform.python_implementation() == "CPython" and not sysconfig.get_config_var(
        "Py_GIL_DISABLED"
    )


def start() -> bool:
    """Load the library if it has been built; returns whether `before` and `view` may be called."""
    global _loaded
    if _loaded is not None:
        return True
    if not settings.flag("TDEV_NATIVE") or not _supported():
        return False
    try:
        path = location()
    except BuildError:  # nowhere to keep one
        return False
    if not path.exists():
        return False
    try:
        library = _load(path)
    except (ImportError, OSError) as error:
        warn_once(
            f"the native kernels of device mlx could not be loaded ({error}); Python's are used. "
            "Build them again with: python -m tdev native --force",
            RuntimeWarning,
            key=path,
        )
        return False
    from tdev_core.accelerators.mlx import dtypes, layout, runtime, storage
    from tdev_core.accelerators.mlx.lazy import mx

    library.start(
        runtime._local,
        layout.below,
        storage.read,
        dtypes.to_torch,
        mx.array,
        runtime.drain,
        runtime.PENDING_LIMIT,
    )
    _loaded = library
    return True


def _load(path: Path) -> Any:
    loader = ExtensionFileLoader(_NAME, str(path))
    spec = importlib.util.spec_from_file_location(_NAME, path, loader=loader)
    assert spec is not None
    library = importlib.util.module_from_spec(spec)
    loader.exec_module(library)
    return library


def before(operator: Any, kernel: Any, float32: Any = None, *, in_place: bool = False) -> None:
    """Answer `operator` with `kernel`, over arrays, where its arguments are simple; the kernel that it has gets the rest.

    Args:
        operator: an overload of ``torch.ops.aten`` with a kernel for the device, which gives tensors and nothing else.
        float32: what to call instead where every operand is float32; see `Row.float32`.
        in_place: whether the result takes the place of the first argument's array.
    """
    _loaded.front(*_named(operator), kernel, float32, in_place)


def view(operator: Any, by: str) -> None:
    """Answer a view operator by torch's own kernel of ``aten::by``, without a detour through Python."""
    _loaded.view(*_named(operator), f"aten::{by}")


def _named(operator: Any) -> tuple[str, str]:
    schema = operator._schema
    return schema.name, schema.overload_name


def answered() -> int:
    """How many calls the native kernels have answered in this process."""
    return 0 if _loaded is None else int(_loaded.answered())


@contextmanager
def using(on: bool) -> Iterator[None]:
    """With or without the native kernels, in all threads, to compare the two."""
    before_it = _loaded is not None and _loaded.enable(on)
    try:
        yield
    finally:
        if _loaded is not None:
            _loaded.enable(before_it)


def build(*, force: bool = False) -> Path:
    """Compile the library where that has not been done; returns its path.

    Two processes may build at once: each has a directory of its own, and the last one's library stays.

    Raises:
        BuildError: this Python cannot have it, the compiler is missing or fails, or the directory cannot be written.
    """
    if not _supported():
        raise BuildError("native kernels need CPython with its global interpreter lock")
    target = location()
    if target.exists() and not force:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix="building-") as scratch:
            made = _compile(Path(scratch))
            os.replace(made, target)
    except OSError as error:
        raise BuildError(
            f"{target.parent} cannot be written ({error.strerror or error}): set TDEV_CACHE_DIR to a directory that can"
        ) from error
    return target


def _compile(scratch: Path) -> Path:
    """The library, made by setuptools in a process of its own: setuptools changes the one that it runs in."""
    shutil.copy(_SOURCE, scratch)
    (scratch / "setup.py").write_text(_SETUP, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    made = list(scratch.glob(f"{_NAME}*{EXTENSION_SUFFIXES[0]}"))
    if ran.returncode or not made:
        said = "\n".join(ran.stdout.strip().splitlines()[-_LINES_OF_LOG:])
        raise BuildError(
            f"the native kernels could not be built. Is there a C++ compiler (macOS: xcode-select --install; "
            f"Debian and Ubuntu: apt install g++)? It said:\n{said}"
        )
    return made[0]


def main(argv: list[str]) -> int:
    """The command ``python -m tdev native``; returns the exit status."""
    if argv not in ([], ["--force"]):
        asked = argv[0] in ("-h", "--help")
        print(_USAGE, end="", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    began = time.monotonic()
    try:
        path = location()
        if path.exists() and not argv:
            print(f"built before: {path}")
            return 0
        print("building the native kernels of device mlx, which takes about a minute …", flush=True)
        build(force=bool(argv))
    except BuildError as error:
        print(f"tdev: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tdev: stopped; nothing has been built", file=sys.stderr)
        return 130
    print(f"built in {time.monotonic() - began:.0f} s: {path}")
    if not settings.flag("TDEV_NATIVE"):
        print("TDEV_NATIVE=0 is set: they are not used until it is unset.")
    return 0
