"""The C module by itself: what it keeps, what it lets through, and where it may be loaded."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
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


class Made:
    """What a recorded call gives: who was called, and with what."""

    def __init__(self, by: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.told = by, args, kwargs


def recorder(by: str) -> Callable[..., Made]:
    return lambda *args, **kwargs: Made(by, args, kwargs)


TARGETS = {"cuda": "cpu", "cpu": "cpu"}
NAMES = {"device": TARGETS, "layout": {"x": "y", "z": "z"}}
OPEN = {**NAMES, "seen": None}
STRICT = {**NAMES, "free": True}
KINDS = (bytes, str)
THERE = object()
PLAIN, LEAF, INNER = (leaks.Tensor(*of) for of in ((), (True, True), (True, False)))


# How often "most" lets pass, what is given, and what torch's function has of it; None: the wrapper has it all.
ARRIVES: list[tuple[int, tuple[Any, ...], dict[str, Any], dict[str, Any] | None]] = [
    (-1, (1,) * 40, {}, {}),
    (2, (1, 2), {}, {}),
    (2, (1, 2), {"device": "cuda"}, {"device": "cpu"}),
    (2, (1, 2, 3), {}, None),
    (0, (), {"device": "cuda"}, {"device": "cpu"}),
    (0, (1,), {}, None),
    (-1, (), {"layout": "z", "device": "cuda"}, {"layout": "z", "device": "cpu"}),
    (-1, (), {"device": "cuda", "other": 3, "layout": "x"}, {"device": "cpu", "other": 3, "layout": "y"}),
    (-1, (), {"device": "cuda", "seen": 1}, None),
    (-1, (), {"device": "cuda", "layout": "unknown"}, None),
    (-1, (), {"device": 3}, None),
    (-1, (), {"device": type("Strange", (str,), {})("cuda")}, None),
    (-1, (1,) * 15, {"device": "cuda"}, {"device": "cpu"}),
    (-1, (1,) * 16, {"device": "cuda"}, None),
]  # fmt: skip


@compiled
@pytest.mark.parametrize(("most", "args", "kwargs", "has"), ARRIVES)
def test_what_torchs_function_is_given(
    most: int, args: tuple[Any, ...], kwargs: dict[str, Any], has: dict[str, Any] | None
) -> None:
    function = module().Function(recorder("wrapper"), recorder("original"), OPEN, KINDS, most)
    expected = ("wrapper", args, kwargs) if has is None else ("original", args, has)
    assert function(*args, **kwargs).told == expected


# The rest of to(device, dtype, non_blocking, copy), of which a name would take torch longer to read.
COPIES = (None, False, True)

# The arguments of a method, and those that torch's has; whether the result is marked as moved.
MOVED: list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...], dict[str, Any], bool]] = [
    ((PLAIN,), {}, (PLAIN, "cpu", *COPIES), {}, True),
    ((PLAIN,), {"free": 1}, (PLAIN, "cpu"), {"free": 1, "copy": True}, True),
    ((PLAIN, "cuda"), {}, (PLAIN, "cpu", *COPIES), {}, True),
    ((PLAIN, "cuda", "dtype"), {}, (PLAIN, "cpu", "dtype", *COPIES[1:]), {}, True),
    ((PLAIN, "cuda", "dtype", True), {}, (PLAIN, "cpu", "dtype", True, *COPIES[2:]), {}, True),
    ((PLAIN, "cuda"), {"free": 1}, (PLAIN, "cpu"), {"free": 1, "copy": True}, True),
    ((PLAIN, "cuda"), {"layout": "x"}, (PLAIN, "cpu"), {"layout": "y", "copy": True}, True),
    ((PLAIN, "cuda", 5), {"free": 1, "layout": "x"}, (PLAIN, "cpu", 5), {"free": 1, "layout": "y", "copy": True}, True),
    ((PLAIN, THERE), {}, (PLAIN, THERE, *COPIES), {}, True),
    ((INNER, "cuda"), {}, (INNER, "cpu", *COPIES), {}, True),
    ((LEAF, "cuda"), {}, (LEAF, "cpu"), {}, True),
    ((PLAIN, "cpu"), {}, (PLAIN, "cpu"), {}, False),
    ((PLAIN, "cpu"), {"layout": "x"}, (PLAIN, "cpu"), {"layout": "y"}, False),
    ((PLAIN, "cpu"), {"layout": "z", "free": 2}, (PLAIN, "cpu"), {"layout": "z", "free": 2}, False),
    ((), {}, (), {}, False),
]  # fmt: skip


@compiled
@pytest.mark.parametrize(("args", "kwargs", "given", "named", "moved"), MOVED)
def test_what_torchs_method_is_given(
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    given: tuple[Any, ...],
    named: dict[str, Any],
    moved: bool,
) -> None:
    marks: dict[int, Any] = {}
    wrapper, original = recorder("wrapper"), recorder("original")
    where = TARGETS, {"cuda"}, "cuda", marks, THERE, lambda tensor: False
    made = module().Method(wrapper, original, STRICT, KINDS, -1, *where)(*args, **kwargs)
    assert made.told == ("original", given, named)
    assert [reference() for reference in marks.values()] == [made] * moved
    if args:  # where it is by its name, it is what it is by its place
        explicit = module().Method(
            wrapper, original, STRICT, KINDS, -1, *where[:2], None, *where[3:]
        )
        device = args[1] if len(args) == 2 else "cuda"
        copies = {"copy": True} if given[2:] else {}
        named = {"device": given[1], **named, **copies}
        found = explicit(args[0], device=device, **kwargs)
        assert found.told == ("original", given[:1], named)
        assert (id(found) in marks) is moved


@compiled
def test_marks_of_what_has_died_go_when_there_are_many() -> None:
    """And not before: to look through all of them at each move would make moves the slower the more there are."""
    marks: dict[int, Any] = {}
    where = TARGETS, {"cuda"}, "cuda", marks, THERE, None
    move = module().Method(len, recorder("original"), STRICT, KINDS, -1, *where)
    live = [move(PLAIN) for _ in range(5)]
    dying = [move(PLAIN) for _ in range(1000)]
    dying.clear()
    others = [Made("nobody", (), {}) for _ in range(3000)]  # which have the addresses of the dead
    live.append(move(PLAIN))
    size = len(marks)
    assert size > 900
    while len(marks) >= size and len(live) < 100_000:
        size = len(marks)
        live.append(move(PLAIN))
    assert {reference() for reference in marks.values()} == {*live} and len(others) == 3000


@compiled
def test_what_is_asked_of_it_is_the_wrappers_and_leaves_no_error_behind() -> None:
    wrapper = recorder("wrapper")
    wrapper.remark = 5  # type: ignore[attr-defined]
    for kind in calls.kinds():
        made = kind(wrapper, len, {}, ())
        for name in ("remark", "__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(made, name) == getattr(wrapper, name)


@compiled
def test_the_getter_stands_for_a_property_alone() -> None:
    for wrong in (len, lambda tensor: "cpu", 3):
        with pytest.raises(TypeError, match="data descriptor"):
            module().DeviceGetter(wrong, {}, THERE)


def test_a_module_that_has_been_compiled_from_this_source_can_be_loaded() -> None:
    """Or all the tests of it would be left out, and none fail."""
    there = calls.SOURCE.with_name("_calls" + str(sysconfig.get_config_var("EXT_SUFFIX")))
    if not there.exists():
        pytest.skip("the C module has not been compiled")
    assert {"Function", "Method", "DeviceGetter"} <= vars(leaks.load(str(there))).keys()


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
        if watch.returncode == 0 and _is_compiled(text, release.start(), planted, library):
            unseen.append(f"line {text.count(chr(10), 0, release.start()) + 1}: {release[0]}")
    assert unseen == []


def _is_compiled(text: str, at: int, source: Path, library: Path) -> bool:
    """Tell whether a place in the C source is of this Python: parts of it are of newer ones, by ``#if``."""
    source.write_text(f"{text[:at]}\n#error\n{text[at:]}", "utf-8")
    return compile_c(source, library).returncode != 0


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
    said = in_another_interpreter(module().__file__)
    assert (
        said.startswith("ImportError: ") and "does not support loading in subinterpreters" in said
    )


def in_another_interpreter(library: str) -> str:
    """Load the module into a second interpreter under the same lock, and say how that went.

    In a process of its own: where there has been a second one, Python no longer tells who holds the lock, and torch
    refuses every backward pass.
    """
    done = subprocess.run(
        [sys.executable, "-c", SECOND_INTERPRETER, library], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


SECOND_INTERPRETER = """
import _interpreters, sys
code = f"library = {sys.argv[1]!r}" + '''
import importlib.util
spec = importlib.util.spec_from_file_location("tdev_core.shims._calls", library)
try:
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    said = "loaded"
except Exception as error:
    said = f"{type(error).__name__}: {error}"
print(said, flush=True)
'''
number = _interpreters.create(_interpreters.new_config("isolated", gil="shared"))
_interpreters.run_string(number, code)
_interpreters.destroy(number)
"""


def test_a_python_without_its_lock_does_without_the_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import would switch the lock on for the whole program, which has asked for a Python without."""
    assert calls._locked() is not bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    for version in ("3.13.0 experimental free-threading build", "3.14.0 free-threading build"):
        monkeypatch.setattr(sys, "version", version)
        assert calls._module.__wrapped__() is None
        assert "global interpreter lock" in calls.state()
