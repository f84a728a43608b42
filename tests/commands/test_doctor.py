"""``python -m tdev doctor`` in processes of its own: what is found depends on how it is started."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forkserver import environment, python

ROOT = Path(__file__).resolve().parent.parent.parent
HEADS = [
    "tdev", "torch", "hardware", "backend", "devices",
    "routes", "missing", "fallback", "packages", "settings", "faster",
]  # fmt: skip


def doctor(*path: Path, fresh: bool = False, **settings: str) -> subprocess.CompletedProcess[str]:
    places = os.pathsep.join(map(str, (*path, ROOT, ROOT / "generated")))
    told = {"TDEV_NATIVE_BUILD": None, **settings}  # it tells of settings
    env = environment(**told, PYTHONPATH=places)
    return python("-m", "tdev", "doctor", env=env, fresh=fresh or bool(path))


def lines(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    found = [line.partition(" ") for line in done.stdout.splitlines()]
    assert [head for head, _, _ in found] == HEADS, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    return {head: text.strip() for head, _, text in found}


def test_eleven_lines_on_a_machine_where_all_is_well() -> None:
    done = doctor(fresh=True, TDEV_BACKEND="cpu")
    said = lines(done)
    assert done.returncode == 0
    assert said["torch"].endswith("they match")
    assert said["backend"] == "cpu, because TDEV_BACKEND=cpu"
    assert said["devices"] == "'cuda' means 'cpu'; tdev.cuda.is_available() is False"
    assert said["settings"] == "TDEV_BACKEND=cpu"
    assert "emulated" in said["routes"] and "--backend cpu" in said["missing"]


def test_numbers_are_the_tables() -> None:
    from tdev_core.mirror import matrix

    rows = [row for row in matrix.load().rows if row.mirror in ("routed", "bound")]
    lacking = sum(row.cells["sim"].route == "unsupported" for row in rows)
    said = lines(doctor(TDEV_BACKEND="sim"))
    assert said["missing"].startswith(f"{lacking} unsupported")
    assert said["routes"].startswith(f"of {len(rows)} device functions on sim")
    assert said["faster"].startswith("sim is for tests")
    assert said["fallback"].startswith("none:")


@pytest.mark.skipif(find_spec("mlx") is None, reason="MLX is not installed")
@pytest.mark.skipif(sys.platform == "darwin", reason="there MLX has a GPU")
def test_mlx_without_metal_is_not_called_fast() -> None:
    said = lines(doctor(TDEV_BACKEND="mlx"))
    assert said["faster"].startswith("unset TDEV_BACKEND")
    assert "FallbackWarning" in said["fallback"]


@pytest.mark.parametrize("backend", ["abacus", "mps"])
def test_a_backend_that_cannot_be_is_told(backend: str) -> None:
    if backend == "mps" and sys.platform == "darwin":
        pytest.skip("MPS may well be usable here")
    done = doctor(TDEV_BACKEND=backend)
    assert done.returncode == 2
    assert lines(done)["backend"].startswith(f"none: TDEV_BACKEND={backend!s}"[:18])


def test_a_broken_torch_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch_cpu.so: cannot open')\n")
    done = doctor(tmp_path)
    said = lines(done)
    assert done.returncode == 2
    assert "importing it fails with OSError: libtorch_cpu.so: cannot open" in said["torch"]
    assert said["faster"].startswith("install a torch that imports")


def test_a_missing_torch_is_told(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError('no torch', name='torch')\n")
    done = doctor(tmp_path)
    assert done.returncode == 2
    assert "python -m pip install torch" in lines(done)["torch"]


def test_arguments_are_refused() -> None:
    from tdev_core.commands.doctor import main

    assert main(["--now"]) == 2 and main(["--help"]) == 0


@pytest.mark.parametrize(
    "command", ["doctor", *(pytest.param(c, marks=pytest.mark.deep) for c in ("version", "--help"))]
)
def test_a_reader_that_has_seen_enough_is_no_error(command: str) -> None:
    """``python -m tdev doctor | head -1``, of a reader that is gone before the first line."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "tdev", command],
            env=environment(TDEV_BACKEND="cpu"),
            stdout=gone,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_version_is_what_a_bug_report_needs() -> None:
    done = python("-m", "tdev", "version", env=environment(TDEV_BACKEND="sim"))
    heads = [line.split()[0] for line in done.stdout.splitlines()]
    assert done.returncode == 0 and heads == ["tdev", "torch", "backend", "settings"]
    assert "Python" in done.stdout and "sim, because TDEV_BACKEND=sim" in done.stdout
