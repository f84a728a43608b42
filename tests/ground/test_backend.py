"""Backend selection, each in a process of its own, since it happens once per process."""

from __future__ import annotations

import os
import subprocess

import pytest

from tdev_core import backend
from tdev_core.errors import ConfigError
from tests.forkserver import environment, python

SHOW = "from tdev_core import backend as b; print(b.current().value, b.availability(), b.reason())"


def run(code: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return python("-c", code, env=environment(**settings))


@pytest.fixture(scope="module")
def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available() or torch.backends.mps.is_available()


def test_cpu_can_be_forced() -> None:
    done = run(SHOW, TDEV_BACKEND="cpu")
    assert done.stdout.split() == ["cpu", "False", "TDEV_BACKEND=cpu"], done.stderr


def test_availability_can_be_set() -> None:
    assert run(SHOW, TDEV_BACKEND="cpu", TDEV_CUDA_AVAILABLE="true").stdout.split()[1] == "True"


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("TDEV_BACKEND", "gpu", "cuda, mps, mlx, sim, cpu"),
        ("TDEV_CUDA_AVAILABLE", "maybe", "auto, true or false"),
        ("TDEV_SHIMS", "perhaps", "1 or 0"),
        ("TDEV_CPU_ALIAS", "perhaps", "1 or 0"),
        ("TDEV_REPORT", "perhaps", "1, html, json or 0"),
        ("TDEV_STRICT", "perhaps", "1 or 0"),
    ],
)
def test_a_wrong_setting_ends_the_import_with_one_paragraph(
    variable: str, value: str, words: str
) -> None:
    done = run("import tdev", **{variable: value})
    assert done.returncode == 2
    assert words in done.stderr and value in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_flags_are_words_too() -> None:
    shims = "import tdev; print(len(tdev.shims.installed()))"
    where = {"TDEV_BACKEND": "cpu"}  # with CUDA there are none
    assert run(shims, TDEV_SHIMS="false", **where).stdout.split() == ["0"]
    assert run(shims, TDEV_SHIMS="On", **where).stdout == run(shims, **where).stdout != "0\n"


def test_a_backend_that_is_not_there_says_why(has_gpu: bool) -> None:
    if has_gpu:
        pytest.skip("this machine has an accelerator; the test is about one that has none")
    done = run("import tdev", TDEV_BACKEND="cuda")
    assert done.returncode == 2
    assert "built without CUDA" in done.stderr or "no usable CUDA device" in done.stderr
    done = run("import tdev", TDEV_BACKEND="mps")
    assert done.returncode == 2 and "MPS" in done.stderr and "Traceback" not in done.stderr


def test_the_backend_is_the_first_that_torch_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA before MPS before the CPU; the others only when they are asked for."""
    monkeypatch.setattr(backend, "forced", lambda: None)
    cuda, mps, cpu = backend.Backend.CUDA, backend.Backend.MPS, backend.Backend.CPU
    for there, expected in (
        ({cuda, mps}, (cuda, "torch finds cuda")),
        ({mps}, (mps, "torch finds mps")),
        (set(), (cpu, "torch finds neither CUDA nor MPS")),
    ):
        monkeypatch.setattr(
            backend, "_missing", lambda b, there=there: None if b in there else "not here"
        )
        assert backend._pick.__wrapped__() == expected  # picked once for the life of the process


def test_the_library_is_silent_without_torch(tmp_path: object) -> None:
    hide = "import sys; sys.modules['torch'] = None\nimport tdev_core, tdev_core.mirror.launch, tdev_core.errors"
    assert python("-c", hide, env=environment(), fresh=True).returncode == 0


def test_a_backend_is_asked_for_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in backend.Backend:
        for text in (one.value, f" {one.value.upper()} "):
            monkeypatch.setenv("TDEV_BACKEND", text)
            assert backend.forced() is one
    for text in ("", " "):
        monkeypatch.setenv("TDEV_BACKEND", text)
        assert backend.forced() is None
    monkeypatch.delenv("TDEV_BACKEND")
    assert backend.forced() is None
    monkeypatch.setenv("TDEV_BACKEND", "gpu")
    with pytest.raises(ConfigError, match="cuda, mps, mlx, sim, cpu"):
        backend.forced()


def test_the_reason_is_of_the_backend_that_was_picked() -> None:
    assert backend.current().value in backend.reason() or "neither" in backend.reason()


def test_what_is_asked_for_is_picked_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pick = backend._pick.__wrapped__
    monkeypatch.setattr(backend, "forced", lambda: backend.Backend.SIM)
    assert pick() == (backend.Backend.SIM, "TDEV_BACKEND=sim")
    monkeypatch.setattr(backend, "_missing", lambda _: "it is elsewhere")
    with pytest.raises(ConfigError, match="TDEV_BACKEND=sim cannot be honoured: it is elsewhere"):
        pick()


@pytest.mark.parametrize(
    ("wish", "answer"),
    [("true", True), ("1", True), ("false", False), (" 0 ", False), ("AUTO", None), ("", None)],
)
def test_availability_is_the_wish_or_whether_there_is_an_accelerator(
    wish: str, answer: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TDEV_CUDA_AVAILABLE", wish)
    for there in (True, False):
        monkeypatch.setattr(backend, "is_accelerator", lambda there=there: there)
        assert backend.availability() is (there if answer is None else answer)
    monkeypatch.setenv("TDEV_CUDA_AVAILABLE", "maybe")
    with pytest.raises(ConfigError, match="TDEV_CUDA_AVAILABLE='maybe'"):
        backend.availability()


def test_what_is_missing_is_the_build_or_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for cuda, hip, words in (
        (None, None, "built without CUDA"),
        ("13.0", None, "torch finds no usable CUDA device"),
        (None, "7.0", "torch finds no usable CUDA device"),
    ):
        monkeypatch.setattr(torch.version, "cuda", cuda)
        monkeypatch.setattr(torch.version, "hip", hip, raising=False)
        assert words in str(backend._missing(backend.Backend.CUDA))
    monkeypatch.delattr(torch.version, "hip")
    monkeypatch.setattr(torch.version, "cuda", None)
    assert "built without CUDA" in str(backend._missing(backend.Backend.CUDA))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for built, words in ((False, "this build of torch has no MPS"), (True, "finds no MPS device")):
        monkeypatch.setattr(torch.backends.mps, "is_built", lambda built=built: built)
        assert words in str(backend._missing(backend.Backend.MPS))
    for one in (torch.cuda, torch.backends.mps):
        monkeypatch.setattr(one, "is_available", lambda: True)
    for there in (backend.Backend.CUDA, backend.Backend.MPS, backend.Backend.SIM):
        assert backend._missing(there) is None


def test_cuda_is_looked_for_without_starting_its_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which would fix CUDA_VISIBLE_DEVICES, and leave forked processes without CUDA, as importing torch does not."""
    import torch

    variable = "PYTORCH_NVML_BASED_CUDA_CHECK"
    asked: list[str | None] = []

    def is_available() -> bool:
        asked.append(os.environ.get(variable))
        return True

    monkeypatch.setattr(torch.cuda, "is_available", is_available)
    for before, told in ((None, "1"), ("0", "0"), ("1", "1")):
        monkeypatch.delenv(variable, raising=False)
        if before is not None:
            monkeypatch.setenv(variable, before)
        assert backend._missing(backend.Backend.CUDA) is None
        assert asked.pop() == told and os.environ.get(variable) == before
