"""Tests that are skipped because of CUDA although a device is there for them, and the harness of torch's own tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.forkserver import environment, python

HARNESS = """\
import unittest
import torch
from torch.testing._internal.common_cuda import TEST_MULTIGPU
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests, onlyCUDA
from torch.testing._internal.common_utils import TEST_CUDA, TestCase


class TestAll(TestCase):
    @onlyCUDA
    @dtypes(torch.float32, torch.int64)
    def test_add(self, device, dtype):
        self.assertIn("cuda", device)
        x = torch.ones(2, device=device, dtype=dtype)
        self.assertEqual(x + x, torch.full((2,), 2, device=device, dtype=dtype))


class TestPlain(TestCase):
    @unittest.skipIf(not TEST_CUDA, "CUDA not available")
    def test_cuda(self):
        self.assertTrue(torch.ones(1).cuda().is_cuda)

    @unittest.skipIf(not TEST_MULTIGPU, "needs 2 GPUs")
    def test_two(self):
        self.assertEqual(torch.ones(1, device="cuda:1").device.index, 1)


instantiate_device_type_tests(TestAll, globals())
"""


PLAIN = """\
import pytest

def test_gpu(): pytest.skip("CUDA not available")
def test_two(): pytest.skip("needs 2 GPUs")
def test_cpu(): pytest.skip("Only runs on cuda")
def test_slow(): pytest.skip("slow")
"""


def run(folder: Path, source: str, *options: str, **settings: str) -> str:
    (folder / "test_it.py").write_text(source)
    (folder / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    plugins = ["-p", "tdev.pytest_plugin", "-p", "no:cacheprovider", "-p", "no:randomly"]
    env = environment(TDEV_BACKEND="sim", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", **settings)
    done = python("-m", "pytest", "--color=yes", *plugins, *options, cwd=folder, env=env)
    return done.stdout + done.stderr


def plain(said: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", said)


def test_what_did_not_run_is_said_in_red(tmp_path: Path) -> None:
    said = run(tmp_path, PLAIN)
    line = next(line for line in said.splitlines() if "although sim was active" in line)
    assert line.startswith("\x1b[31m")
    assert "tdev: 2 tests were skipped because of CUDA although sim was active: " in plain(line)
    assert "'CUDA not available' (1), 'needs 2 GPUs' (1)" in plain(line)


UNITTEST = """\
import sys
import unittest

class TestIt(unittest.TestCase):
    @unittest.skip("CUDA not available")
    def test_gpu(self): pass
    @unittest.skip("slow")
    def test_slow(self): pass
    def test_two(self): self.skipTest("needs 2 GPUs")

class Terminal:
    def __getattr__(self, name): return getattr(sys.stderr, name)
    def isatty(self): return True

if __name__ == "__main__":
    unittest.main(testRunner=unittest.TextTestRunner(stream=Terminal()))
"""
IN_VAIN = "tdev: 2 tests were skipped because of CUDA although sim was active: 'CUDA not available' (1), 'needs 2 GPUs' (1)"


@pytest.mark.parametrize(
    ("backend", "expected"),
    [
        pytest.param("sim", IN_VAIN, id="in vain"),
        pytest.param(
            "cpu", "tdev: 2 tests were skipped for want of CUDA. ", id="for want of a device"
        ),
    ],
)
def test_unittest_says_what_did_not_run(tmp_path: Path, backend: str, expected: str) -> None:
    (tmp_path / "test_it.py").write_text(UNITTEST)
    env = environment(TDEV_BACKEND=backend)
    done = python("-m", "tdev", "run", "-m", "unittest", "test_it", cwd=tmp_path, env=env)
    lines = done.stderr.splitlines()
    assert done.returncode in (0, 5) and lines[-2] == "OK (skipped=3)", done.stderr
    assert lines[-1].startswith(expected)


def test_unittest_says_it_in_red_on_a_terminal(tmp_path: Path) -> None:
    script = tmp_path / "test_it.py"
    script.write_text(UNITTEST)
    said = {}
    for no_color in ("", "1"):
        env = environment(TDEV_BACKEND="sim", NO_COLOR=no_color)
        done = python("-m", "tdev", "run", str(script), cwd=tmp_path, env=env)
        said[no_color] = done.stderr.splitlines()[-1]
    assert said[""] == f"\x1b[31;1m{said['1']}\x1b[0m" and said["1"].startswith(IN_VAIN)


@pytest.mark.deep  # thousands of lines of torch's are rewritten
def test_one_option_has_torchs_own_harness_see_the_device(tmp_path: Path) -> None:
    said = plain(run(tmp_path, HARNESS, "--tdev-torch-testing", "-v", TDEV_SIM_DEVICES="2"))
    for name in ("add_cuda_float32", "add_cuda_int64", "cuda", "two"):
        assert re.search(rf"::test_{name} \S*PASSED", said), said
    assert "test_add_sim" not in said  # the device is there once, as CUDA
    assert "although sim was active" not in said
