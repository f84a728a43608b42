"""What goes on answering for CUDA alone in one file of a tree, where another file asks it."""

from __future__ import annotations

import pytest

from tests.codemod.small_trees import migrated

QUESTIONS = """import torch


def is_cuda_available():
    return torch.cuda.is_available()


def is_xpu_available():
    return hasattr(torch, "xpu") and torch.xpu.is_available()


def is_mps_available():
    return torch.backends.mps.is_available()
"""
TESTING = """import unittest

import torch

from .questions import is_cuda_available, is_mps_available, is_xpu_available


def pick():
    if is_cuda_available():
        return "cuda", torch.cuda.device_count()
    elif is_mps_available():
        return "mps", 1
    elif is_xpu_available():
        return "xpu", torch.xpu.device_count()
    return "cpu", 1


test_device, count = pick()


def needs_cuda(test):
    return unittest.skipUnless(is_cuda_available(), "test requires CUDA")(test)


def needs_cuda_or_xpu(test):
    there = is_cuda_available() and count > 0
    return unittest.skipUnless(there or is_xpu_available(), "test requires CUDA or XPU")(test)


def needs_cuda_or_mps(test):
    there = is_cuda_available() or is_mps_available()
    return unittest.skipUnless(there, "test requires a device")(test)


def needs_early_cuda(test):
    if not is_cuda_available():
        return unittest.skip("test requires CUDA")(test)
    return test


def skips_cuda(test):
    return unittest.skipIf(is_cuda_available(), "test is for the CPU")(test)
"""
TREE = {"pkg/questions.py": QUESTIONS, "pkg/testing.py": TESTING}


def _migrated(code: str) -> str:
    return migrated({**TREE, "tests/test_run.py": code}, "tests/test_run.py").code


@pytest.mark.parametrize(
    ("decorator", "stays"),
    [
        ("needs_cuda", True),
        ("needs_cuda_or_xpu", True),
        ("needs_early_cuda", True),
        ("needs_cuda_or_mps", False),
        ("skips_cuda", False),
    ],
)
def test_a_decorator_of_another_file(decorator: str, stays: bool) -> None:
    code = f"""import torch

from pkg.testing import {decorator}


@{decorator}
def test_run():
    assert torch.ones(3, device="cuda").sum() == 3
"""
    assert (_migrated(code) == code) is stays


def test_a_decorator_that_asks_for_itself() -> None:
    testing = """import unittest

import torch


def require_cuda(test):
    return unittest.skipUnless(torch.cuda.is_available(), "test requires CUDA")(test)
"""
    code = """import torch

from pkg.testing import require_cuda


@require_cuda
def test_run():
    assert torch.ones(3, device="cuda").sum() == 3
"""
    tree = {"pkg/testing.py": testing, "tests/test_run.py": code}
    assert migrated(tree, "tests/test_run.py").code == code
    tree["pkg/testing.py"] = testing.replace("requires CUDA", "is for a GPU")
    assert migrated(tree, "tests/test_run.py").code != code


def test_the_decorators_of_one_module() -> None:
    several = """

def requires_gpus(test):
    return unittest.skipUnless(torch.cuda.device_count() > 1, "test is for several GPUs")(test)
"""
    tree = {**TREE, "pkg/testing.py": TESTING + several}
    assert migrated(tree, "pkg/testing.py").code == TESTING + several
    code = """import torch

from pkg.testing import requires_gpus


@requires_gpus
def test_run():
    assert torch.ones(3, device="cuda:1").sum() == 3
"""
    assert migrated({**tree, "tests/test_run.py": code}, "tests/test_run.py").code == code
    tree["pkg/testing.py"] = alone = f"import unittest\n\nimport torch\n{several}".replace(
        "> 1", "> 0"
    )
    assert migrated({**tree, "tests/test_run.py": code}, "pkg/testing.py").code != alone


def test_what_a_question_of_another_file_opens() -> None:
    code = """import torch

from pkg.questions import is_cuda_available


def run(x):
    if is_cuda_available():
        x = x.to("cuda")
        torch.cuda.synchronize()
    return x
"""
    result = migrated({**TREE, "pkg/run.py": code}, "pkg/run.py")
    assert result.code == code
    assert {each.message for each in result.findings} == {
        "only CUDA gets past is_cuda_available(); left as it is"
    }


def test_a_question_of_that_name_from_elsewhere() -> None:
    code = """import torch

from elsewhere import is_cuda_available


def run(x):
    if is_cuda_available():
        torch.cuda.synchronize()
    return x.to("cuda")
"""
    assert "tdev" in migrated({**TREE, "pkg/run.py": code}, "pkg/run.py").code


USES = """import torch

from pkg.testing import test_device


def test_run():
    device = torch.device(test_device)
    other = torch.device(test_device.replace(":0", ":1"))
    assert torch.ones(3, device=test_device).device == device != other
"""


def test_a_device_that_another_file_chooses() -> None:
    assert _migrated(USES) == USES
    again = USES.replace("\n\n\ndef", '\n\ntest_device = f"{test_device}:0"\n\n\ndef')
    assert _migrated(again) == again


@pytest.mark.parametrize(
    "chosen",
    [
        'def pick():\n    if is_xpu_available():\n        return "xpu", 1\n    return "cuda", 1\n',
        'def pick():\n    return os.environ["DEVICE"], 1\n',
    ],
)
def test_a_device_that_may_be_a_word(chosen: str) -> None:
    at, end = TESTING.index("def pick"), TESTING.index("\n\ntest_device")
    tree = {**TREE, "pkg/testing.py": TESTING[:at] + chosen + TESTING[end:], "tests/t.py": USES}
    assert "tdev.device(test_device)" in migrated(tree, "tests/t.py").code


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ('from pkg import testing\ntesting.test_device = "cuda"\n', False),
        ('test_device = "cuda:1"\n', False),
        ('if torch.ones(1):\n    test_device, other = "cuda:1", 2\n', False),
        ('def run():\n    global test_device\n    test_device = "cuda"\n', False),
        ('def run():\n    test_device = "cuda"\n    return test_device\n', True),
    ],
)
def test_a_device_that_another_file_sets(other: str, stays: bool) -> None:
    # Without XPU, which tdev does not know: a package that runs there keeps what it is given.
    testing = """from .questions import is_cuda_available, is_mps_available


def pick():
    if is_cuda_available():
        return "cuda", 2
    elif is_mps_available():
        return "mps", 1
    return "cpu", 1


test_device, count = pick()
"""
    at, end = QUESTIONS.index("def is_xpu"), QUESTIONS.index("def is_mps")
    tree = {"pkg/questions.py": QUESTIONS[:at] + QUESTIONS[end:], "pkg/testing.py": testing}
    tree |= {"pkg/cli.py": f"import torch\n{other}", "tests/t.py": USES}
    assert (migrated(tree, "tests/t.py").code == USES) is stays
