"""Limits that tests set themselves by markers, under ``pytest -p tdev.pytest_plugin``."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tdev_core.run import budgets, pytest_plugin
from tests.forkserver import environment, python

TESTS = """\
import pytest
import torch

x = torch.arange(4.0, device="cuda")


@pytest.mark.tdev_max_syncs(0)
def test_waits():
    total = x.sum()
    assert total.item() == 6


@pytest.mark.tdev_max_syncs(1)
def test_waits_once():
    assert x.sum().item() == 6


@pytest.mark.tdev_max_memory("1MiB")
def test_holds_much():
    torch.zeros(1 << 20, device="cuda")


@pytest.mark.tdev_max_memory("1MiB")
def test_holds_little():
    torch.zeros(1 << 10, device="cuda")


@pytest.mark.tdev_no_fallback
def test_leaves():
    torch.linalg.eigvals(torch.eye(3, device="cuda"))


@pytest.mark.tdev_no_fallback
def test_stays():
    assert (x + 1).shape == (4,)
"""


def run(folder: Path, backend: str, source: str = TESTS) -> str:
    (folder / "test_it.py").write_text(source)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    plugins = ["-p", "tdev.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly"]
    settings = environment(TDEV_BACKEND=backend, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    done = python("-m", "pytest", "-rA", "--strict-markers", *plugins, cwd=folder, env=settings)
    return done.stdout + done.stderr


def test_each_marker_is_told_to_pytest_by_its_name() -> None:
    names = [re.split(r"[(:]", line)[0] for line in budgets.MARKERS]
    assert names == ["tdev_max_syncs", "tdev_max_memory", "tdev_no_fallback"]


def test_the_harness_of_torchs_tests_is_where_it_is_looked_for() -> None:
    for name in pytest_plugin._HARNESS:
        assert importlib.util.find_spec(name) is not None, name


def outcomes(said: str) -> dict[str, str]:
    lines = (line.split() for line in said.splitlines() if line.startswith(("PASSED ", "FAILED ")))
    return {words[1].rpartition("::")[2]: words[0] for words in lines}


def test_limits_are_kept_on_sim(tmp_path: Path) -> None:
    said = run(tmp_path, "sim")
    assert outcomes(said) == {
        "test_waits": "FAILED",
        "test_waits_once": "PASSED",
        "test_holds_much": "FAILED",
        "test_holds_little": "PASSED",
        "test_leaves": "PASSED",  # sim has every operator
        "test_stays": "PASSED",
    }, said
    assert "the program waited for the device 1 times, at most 0 are allowed" in said
    assert f"{tmp_path / 'test_it.py'}:10: aten::_local_scalar_dense" in said
    assert "device 0 held 4,194," in said and "1,048,576 are allowed" in said


@pytest.mark.skipif(importlib.util.find_spec("mlx") is None, reason="MLX is not installed")
def test_what_leaves_the_device_is_named_on_mlx(tmp_path: Path) -> None:
    said = run(
        tmp_path,
        "mlx",
        TESTS[: TESTS.index("@")]
        + TESTS[TESTS.rindex("@pytest.mark.tdev_no_fallback\ndef test_leaves") :],
    )
    assert outcomes(said) == {"test_leaves": "FAILED", "test_stays": "PASSED"}, said
    assert "left the accelerator for the CPU: aten::_linalg_eig" in said


def test_what_cannot_be_judged_is_said(tmp_path: Path) -> None:
    said = run(tmp_path, "cpu")
    assert set(outcomes(said).values()) == {"PASSED"}
    for marker in ("tdev_max_syncs", "tdev_max_memory", "tdev_no_fallback"):
        assert f"{marker} is not judged here" in said


@pytest.mark.parametrize(
    "marker", ["max_syncs(-1)", "max_syncs()", "max_syncs('1')", "max_memory('much')"]
)
def test_a_limit_that_means_nothing_is_refused(tmp_path: Path, marker: str) -> None:
    said = run(
        tmp_path, "sim", f"import pytest\n\n\n@pytest.mark.tdev_{marker}\ndef test():\n    pass\n"
    )
    assert f"tdev_{marker[: marker.index('(')]}" in said and "UsageError" in said
