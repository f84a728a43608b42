"""Tests of a package that knows MPS: what they hand CUDA's name to chooses for itself, or takes MPS's as well."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite

PACKAGE = """\
import torch


class Predictor:
    def __init__(self, device):
        self.device = device or ("mps" if torch.backends.mps.is_available() else "cpu")
"""
EACH_DEVICE = """\
import pytest
import torch

from pkg.predictor import Predictor

DEVICES = ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


def run(device):
    return Predictor(device=device).predict(2)


@pytest.mark.parametrize("device", DEVICES)
def test_run(device):
    assert run(device) == 2
"""
ONE_DEVICE = """\
import torch


def test_run():
    from pkg.predictor import Predictor

    device = "cuda" if torch.cuda.is_available() else "cpu"
    assert Predictor(device=device).predict(2) == 2
"""
AN_ACCELERATOR = """\
import torch
from omegaconf import OmegaConf

from pkg.predictor import Predictor


def test_run(config):
    if torch.cuda.is_available():
        OmegaConf.update(config, "trainer.accelerator", "cuda")
    assert Predictor(config).predict(2) == 2
"""

AN_ERROR = """\
import pytest
import torch


def test_run():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA")
    from pkg.predictor import try_gpu

    with patch("torch.randn", side_effect=RuntimeError("CUDA out of memory")):
        assert "CUDA out of memory" in try_gpu()
"""


def _migrated(test: str, package: str = PACKAGE) -> str:
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/predictor.py"), package.encode(), "pkg")
    seen.see(PurePath("/src/tests/test_run.py"), test.encode(), "tests")
    options = Options(tree=seen.tree())
    return rewrite(test, Names.load(), options, filename="/src/tests/test_run.py").code


def test_cuda_is_one_of_the_devices_that_are_handed_on() -> None:
    assert _migrated(EACH_DEVICE) == EACH_DEVICE


@pytest.mark.parametrize(
    ("test", "package"),
    [
        (EACH_DEVICE, PACKAGE.replace("backends.mps", "cuda").replace("mps", "cuda")),
        (EACH_DEVICE.replace("predict(2)", "predict(torch.ones(2, device=device))"), PACKAGE),
        (EACH_DEVICE.replace("(device=device)", "(device=None).to(device)"), PACKAGE),
    ],
    ids=["code that does not know MPS", "torch makes something there", "and moves there"],
)
def test_the_devices_are_asked_for_all_the_same(test: str, package: str) -> None:
    assert '["cuda"] if tdev.cuda.is_available() else []' in _migrated(test, package)


def test_the_name_of_the_device_is_handed_on() -> None:
    code = _migrated(ONE_DEVICE)
    assert 'device = str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"' in code


def test_lightnings_accelerator_is_set_in_omegaconf() -> None:
    assert _migrated(AN_ACCELERATOR) == AN_ACCELERATOR


def test_what_is_told_and_a_function_that_is_given_nothing_name_no_device() -> None:
    assert _migrated(AN_ERROR) == AN_ERROR
    for given in ("try_gpu(device)", "torch.cuda.empty_cache()", 'try_gpu("cuda")'):
        assert "if not tdev.cuda" in _migrated(AN_ERROR.replace("try_gpu()", given)), given
