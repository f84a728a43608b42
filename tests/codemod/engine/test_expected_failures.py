"""Tests that say by an error which they expect what a function does with a device."""

from __future__ import annotations

from tests.codemod.small_trees import migrated

REFUSES = """import pytest
import torch

from pkg.loading import Config, load


@pytest.fixture
def small():
    return load("small", device=torch.device("cuda", index=0), config=Config(4))


@pytest.fixture
def whole():
    return load("whole", device=torch.device("cuda"))


def test_all_but_cuda():
    with pytest.raises(ValueError, match="can be packed on CUDA alone"):
        model = load("small", device=torch.device("cpu"), config=Config(4))
"""


def test_what_refuses_all_but_cuda() -> None:
    result = migrated({"tests/test_load.py": REFUSES}, "tests/test_load.py")
    assert 'load("small", device=torch.device("cuda", index=0), config=Config(4))' in result.code
    assert 'load("whole", device=tdev.device("cuda"))' in result.code
    assert [(each.line, each.message) for each in result.findings] == [
        (9, "a test expects load to refuse what is not CUDA's; left as it is")
    ]


def test_an_error_that_says_something_else() -> None:
    code = REFUSES.replace("can be packed on CUDA alone", "no such model")
    result = migrated({"tests/test_load.py": code}, "tests/test_load.py")
    assert 'device=tdev.device("cuda", index=0)' in result.code


FAILS = """import pytest

from pkg.loading import has_gpu, load


def test_without_a_gpu():
    if not has_gpu():
        with pytest.raises((AssertionError, RuntimeError)):
            _ = load("small", device="cuda")
    with pytest.raises(RuntimeError):
        load("none", device="cuda")
"""


def test_that_cudas_name_is_refused() -> None:
    loads = """import torch


def load(name, device="cpu"):
    return torch.load(name).to(torch.device(device))
"""
    tree = {"pkg/loading.py": loads, "tests/test_load.py": FAILS}
    said = "expects that CUDA's name is refused where there is no CUDA, and tdev refuses it nowhere"
    findings = migrated(tree, "tests/test_load.py").findings
    assert [(each.line, each.message) for each in findings if "expects" in each.message] == [
        (9, said)
    ]
