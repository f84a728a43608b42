"""Backend selection, each in a process of its own, since it happens once per process."""

from __future__ import annotations

import subprocess

import pytest

from tdev_core import backend
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
        ("TDEV_REPORT", "perhaps", "1 or 0"),
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
    assert run(shims, TDEV_SHIMS="false").stdout.split() == ["0"]
    assert run(shims, TDEV_SHIMS="On").stdout == run(shims).stdout != "0\n"


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
