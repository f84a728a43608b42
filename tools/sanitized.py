"""The tests of what is written in C and C++, under AddressSanitizer, UBSan and CPython's own checking allocator.

    python -m tools.sanitized calls     # tdev_core/shims/_calls.c, sanitized
    python -m tools.sanitized native    # the C++ kernels of device mlx, sanitized
    python -m tools.sanitized debug     # both as they are, under PYTHONMALLOC=debug

Both are compiled with ``-Wall -Wextra -Werror``, the headers of Python and torch apart. Further words go to pytest.
Needs GCC on Linux, whose runtime libraries are loaded before Python's.
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

ROOT = Path(__file__).resolve().parents[1]
CALLS = ["tests/shims/test_c_calls.py", "tests/shims/test_c_module.py"]
NATIVE = ["tests/accelerators/mlx/test_native.py"]
FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"]
FLAGS += ["-fno-omit-frame-pointer", "-g1", "-O1", "-Wall", "-Wextra", "-Werror"]


def main(argv: list[str]) -> int:
    """Run one of the three; returns pytest's exit status, or 2."""
    what, *options = argv or [""]
    with tempfile.TemporaryDirectory(prefix="tdev-sanitized-") as scratch:
        place = Path(scratch)
        if what == "calls":
            tree = sanitized_calls(place)
            return pytest(tree, CALLS, options, **under_sanitizers())
        if what == "native":
            cache = sanitized_native(place)
            return pytest(ROOT, NATIVE, options, TDEV_TEST_CACHE=str(cache), **under_sanitizers())
    if what == "debug":
        status = pytest(ROOT, CALLS, options, PYTHONMALLOC="debug")
        return status or pytest(ROOT, NATIVE, options, PYTHONMALLOC="debug")
    print(__doc__, file=sys.stderr)
    return 2


def sanitized_calls(place: Path) -> Path:
    """Return a folder with the library and a module in it that the sanitizers watch."""
    left_out = shutil.ignore_patterns("*.so", "__pycache__")
    shims = Path(shutil.copytree(ROOT / "tdev_core", place / "tdev_core", ignore=left_out), "shims")
    source = shims / "_calls.c"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    library = shims / f"_calls{EXTENSION_SUFFIXES[0]}"
    command = ["gcc", "-shared", "-fPIC", *FLAGS, f"-DTDEV_SOURCE={digest}"]
    command += ["-isystem", sysconfig.get_path("include"), "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    # The tests would pass as well by Python alone.
    code = "from tdev_core.shims import calls; print(calls._module().__file__)"
    env = {**environment(place), **under_sanitizers()}
    found = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=place, capture_output=True, text=True
    )
    if found.stdout.strip() != str(library):
        raise SystemExit(f"{library} is not what is loaded: {found.stdout}{found.stderr}")
    return place


def sanitized_native(place: Path) -> Path:
    """Return a folder for caches with native kernels in it that the sanitizers watch."""
    from torch.utils.cpp_extension import include_paths

    cache = place / "cache"
    cache.mkdir(mode=0o700)
    # GCC warns of nothing in a folder that it is told to be the system's, also where it is given with -I.
    system = [*include_paths(), sysconfig.get_path("include")]
    flags = " ".join([*FLAGS, *(f"-isystem {folder}" for folder in system)])
    env = environment(ROOT, CFLAGS=flags, CXXFLAGS=flags, LDFLAGS="-fsanitize=address,undefined")
    env["TDEV_CACHE_DIR"] = str(cache)
    subprocess.run([sys.executable, "-m", "tdev", "native"], env=env, check=True, cwd=ROOT)
    return cache


def under_sanitizers() -> dict[str, str]:
    """Return what the environment of a Python needs to have that loads a sanitized library."""
    first = [runtime("libasan.so"), runtime("libstdc++.so")]  # which ASan looks for throw in
    return {
        "LD_PRELOAD": " ".join(first),
        # CPython keeps much to its end, and so does torch.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",  # or ASan would see arenas, and no objects in them
    }


def runtime(name: str) -> str:
    """Return the path of a library of the compiler's."""
    said = subprocess.run(["gcc", f"-print-file-name={name}"], check=True, capture_output=True)
    return os.path.realpath(said.stdout.decode().strip())


def environment(tree: Path, **settings: str) -> dict[str, str]:
    """Return this process's environment with the library of ``tree`` and this mirror importable."""
    path = os.pathsep.join(map(str, (tree, ROOT / "generated", ROOT)))
    return {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **settings}


def pytest(tree: Path, tests: list[str], options: list[str], **settings: str) -> int:
    """Run tests with the library of ``tree``; returns pytest's exit status."""
    command = [sys.executable, "-m", "pytest", "-o", f"pythonpath={tree} generated .", *tests]
    return subprocess.run(
        [*command, *options], cwd=ROOT, env=environment(tree, **settings)
    ).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
