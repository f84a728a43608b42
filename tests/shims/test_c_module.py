"""The C module by itself: what it keeps, what it lets through, and where it may be loaded."""

from __future__ import annotations

import gc
import importlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core.shims import calls
from tests.shims import leaks

COMPILER = shutil.which(os.environ.get("CC", "cc"))
compiled = pytest.mark.skipif(not calls.kinds(), reason="the C module is not there, or left out")
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform == "win32",
    reason="there is no C compiler that takes these options",
)


def module() -> Any:
    return sys.modules[calls.kinds()[0].__module__]


def compile_c(source: Path, library: Path, *options: str) -> subprocess.CompletedProcess[str]:
    include = sysconfig.get_path("include")
    link = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    command = [str(COMPILER), "-shared", "-fPIC", *options, *link, "-isystem", include]
    return subprocess.run(
        [*command, "-o", str(library), str(source)], capture_output=True, text=True
    )


@compiled
def test_calls_leave_as_much_as_there_was() -> None:
    """10,000 calls by each path: no object more or less, nor a reference to what they were given."""
    assert leaks.growth(module()) == {}


@compiled
def test_the_collector_is_told_of_all_that_an_object_holds_and_all_is_let_go() -> None:
    """What it is not told of is never found in a cycle; what is not let go is a leak for each replaced method."""

    def wrapper() -> None: ...

    def original() -> None: ...

    target = object()
    parts: dict[str, Any] = {
        "keywords": {"device": {}},
        "kinds": (int, str),
        "leading": {"cuda": target},
        "copied": {target},
        "implied": {"implied": 1},
        "moved": {1: target},
        "there": ["there"],
        "overridden": ["overridden"],
    }
    namespace, name = {"a name": original}, "".join(["a ", "name"])
    for place, held in (
        (original, [original]),
        ((namespace, name), [namespace, name]),
    ):
        for kind in calls.kinds():
            every = [wrapper, *held, *parts.values()]
            before = [sys.getrefcount(one) for one in every]
            made = kind(wrapper, place, most=-1, **parts)
            found = gc.get_referents(made)
            assert {*map(id, found)} == {*map(id, [kind, *every])}
            assert [sys.getrefcount(one) for one in every] > before
            del made, found
            gc.collect()
            assert [sys.getrefcount(one) for one in every] == before
    of, moved, there = torch._C.TensorBase.device, dict[int, Any](), torch.device("meta")
    every = [of, moved, there]
    before = [sys.getrefcount(one) for one in every]
    getter = module().DeviceGetter(of, moved, there)
    assert {*map(id, gc.get_referents(getter))} == {*map(id, [module().DeviceGetter, *every])}
    del getter
    assert [sys.getrefcount(one) for one in every] == before


@pytest.mark.deep
@needs_compiler
def test_any_release_that_is_forgotten_is_seen(tmp_path: Path) -> None:
    """The test above, on the module without one of its releases at a time. Those of its making run once."""
    text = calls.SOURCE.read_text(encoding="utf-8")
    body, _, making = text.partition("\nfill(PyObject *module)")
    assert making
    releases = list(re.finditer(r"\bPy_X?(?:DECREF|CLEAR)\([^;]*\);", body))
    assert len(releases) > 10
    unseen = []
    for number, release in enumerate(releases):
        planted, library = tmp_path / f"{number}.c", tmp_path / f"{number}.so"
        planted.write_text(text[: release.start()] + "(void)0;" + text[release.end() :], "utf-8")
        done = compile_c(planted, library)
        assert done.returncode == 0, done.stderr
        watch = subprocess.run([sys.executable, leaks.__file__, str(library)], capture_output=True)
        if watch.returncode == 0:
            unseen.append(f"line {text.count(chr(10), 0, release.start()) + 1}: {release[0]}")
    assert unseen == []


@compiled
@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyboardInterrupt, KeyboardInterrupt),
        (SystemExit, SystemExit),
        (MemoryError, MemoryError),
        (RuntimeError, RuntimeError),
        (AttributeError, "wrapper"),
        (TypeError, "wrapper"),
    ],
)
def test_only_the_error_of_what_is_no_tensor_is_forgotten(error: Any, expected: Any) -> None:
    """Ctrl-C comes at any moment, and may do so while a tensor is asked whether it requires grad."""

    def wrapper(*_: object) -> str:
        return "wrapper"

    method = module().Method(wrapper, print, {}, (str,), -1, {"cuda": "cpu"}, {"cuda"})
    asked = leaks.Asked(error)
    if isinstance(expected, str):
        assert method(asked, "cuda") == expected
    else:
        with pytest.raises(expected):
            method(asked, "cuda")


@needs_compiler
def test_it_compiles_without_a_warning(tmp_path: Path) -> None:
    options = ("-O2", "-Wall", "-Wextra", "-Werror", f"-DTDEV_SOURCE={'0' * 64}")
    done = compile_c(calls.SOURCE, tmp_path / "library.so", *options)
    assert (done.returncode, done.stderr) == (0, "")


@compiled
@pytest.mark.skipif(
    sys.version_info < (3, 13), reason="3.13 is the first Python in which that can be asked for"
)
def test_another_interpreter_of_the_process_is_refused() -> None:
    assert in_another_interpreter(module().__file__).startswith("ImportError: ")


def in_another_interpreter(library: str) -> str:
    """Load the module into a second interpreter under the same lock, and say how that went."""
    interpreters = importlib.import_module("_interpreters")
    reading, writing = os.pipe()
    code = f"""
import importlib.util, os
spec = importlib.util.spec_from_file_location("tdev_core.shims._calls", {library!r})
try:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    said = "loaded"
except Exception as error:
    said = f"{{type(error).__name__}}: {{error}}"
os.write({writing}, said.encode())
"""
    number = interpreters.create(interpreters.new_config("isolated", gil="shared"))
    try:
        interpreters.run_string(number, code)
    finally:
        interpreters.destroy(number)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read().decode()
    return said


def test_a_python_without_its_lock_does_without_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import would switch the lock on for the whole program, which has asked for a Python without."""
    assert calls._locked() is not bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    for version in ("3.13.0 experimental free-threading build", "3.14.0 free-threading build"):
        monkeypatch.setattr(sys, "version", version)
        assert calls._module.__wrapped__() is None
        assert "global interpreter lock" in calls.state()
