"""Every name of a stand-in has the signature of its package's, and a test in which its values are compared.

``signatures.json`` holds the parameters of each function and class as the packages' sources have them (flash_attn 2.8.3,
xformers 0.0.35, causal_conv1d 1.7.0, mamba_ssm 2.3.2, nvidia-ml-py 13). apex has no archive to compare with: its rows are the
stand-in's own, and only keep them as they are. A name that is new here fails until somebody has looked it up there, and has
said where it is compared.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tdev_core import packages
from tdev_core.codemod.engine.stand_in_names import names_of
from tests.packages.test_bad_input import FUNCTIONS
from tests.packages.test_xformers import BLOCKS, WHOLE

HERE = Path(__file__).parent
_WORD = re.compile(r"\w+")
STAND_INS = ("apex", "causal_conv1d", "flash_attn", "mamba_ssm", "pynvml", "xformers")
# Compared with their definitions, by gradient and at bad input.
COMPARED = {f"{function.package}.{function.name}" for function in FUNCTIONS}
COMPARED |= {f"xformers.{type(bias).__name__}" for bias, *_ in (*WHOLE, *BLOCKS)}
# Compared in a test of their own, in the file of tests/packages that names them.
ELSEWHERE = (
    (
        "test_apex",
        "apex: FusedAdam FusedLAMB FusedLayerNorm FusedRMSNorm MixedFusedLayerNorm MixedFusedRMSNorm",
    ),
    ("test_apex_amp", "apex: initialize load_state_dict master_params scale_loss state_dict"),
    (
        "test_apex_parallel",
        "apex: DistributedDataParallel LARC Reducer SyncBatchNorm convert_syncbn_model"
        " create_syncbn_process_group",
    ),
    (
        "test_flash_attn",
        "flash_attn: flash_attn_varlen_func flash_attn_varlen_kvpacked_func"
        " flash_attn_varlen_qkvpacked_func index_first_axis index_put_first_axis pad_input unpad_input",
    ),
    ("test_mamba_ssm", "mamba_ssm: Mamba mamba_inner_fn mamba_inner_ref"),
    (
        "test_norms_and_losses",
        "flash_attn: DropoutAddLayerNorm DropoutAddRMSNorm RMSNorm RotaryEmbedding",
    ),
    ("test_norms_and_losses", "mamba_ssm: RMSNorm"),
    (
        "test_pynvml",
        "pynvml: nvmlDeviceGetCount nvmlDeviceGetCudaComputeCapability nvmlDeviceGetHandleByIndex"
        " nvmlDeviceGetHandleByUUID nvmlDeviceGetIndex nvmlDeviceGetMemoryInfo nvmlDeviceGetName nvmlDeviceGetPowerUsage"
        " nvmlDeviceGetTemperature nvmlDeviceGetUUID nvmlDeviceGetUtilizationRates nvmlInit nvmlInitWithFlags nvmlShutdown",
    ),
    (
        "test_xformers",
        "xformers: LowerTriangularMaskWithTensorBias"
        " AttentionOpBase RMSNorm SwiGLU index_select_cat unbind",
    ),
)


def own() -> Iterator[tuple[str, Any]]:
    """Yield each public function and class of the stand-ins under the module that defines it."""
    for package in STAND_INS:
        module = importlib.import_module(f"{packages.__name__}.{package}")
        inside = pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}.")
        for found in (module, *(importlib.import_module(one.name) for one in inside)):
            for name, value in vars(found).items():
                if name.startswith("_") or getattr(value, "__module__", "") != found.__name__:
                    continue
                if inspect.isfunction(value) or inspect.isclass(value):
                    yield f"{found.__name__.removeprefix(packages.__name__ + '.')}.{name}", value


NAMES = dict(own())


def parameters(value: Any) -> str:
    """Return the parameters of a function or class as its source has them, without types."""
    found = inspect.signature(value)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    return str(found.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_each_has_the_signature_of_its_package() -> None:
    known = json.loads((HERE / "signatures.json").read_text(encoding="utf-8"))
    assert {name: parameters(value) for name, value in NAMES.items()} == known


def test_each_is_compared() -> None:
    elsewhere = set()
    for _, text in ELSEWHERE:
        package, _, names = text.partition(": ")
        elsewhere |= {f"{package}.{name}" for name in names.split()}
    # Under another name, or beside other functions, it may be the same one.
    there_are = {f"{n.partition('.')[0]}.{value.__name__}" for n, value in NAMES.items()}
    missing = there_are - COMPARED - elsewhere
    assert not missing, "compare it in test_bad_input.FUNCTIONS, or say in ELSEWHERE where it is"
    assert elsewhere <= there_are, "names that there are not"


@pytest.mark.parametrize(("file", "text"), ELSEWHERE)
def test_its_file_names_it(file: str, text: str) -> None:
    words = {*_WORD.findall((HERE / f"{file}.py").read_text(encoding="utf-8"))}
    assert words.issuperset(text.partition(": ")[2].split())


def test_the_codemod_knows_its_names() -> None:
    """It reads them off the files: an import of what a stand-in has becomes the stand-in's, and no other does."""
    for name, module in sorted(sys.modules.copy().items()):
        within = name.removeprefix("tdev_core.packages.")
        if within == name or within.partition(".")[0] not in STAND_INS:
            continue
        wanted = {each for each in vars(module) if not each.startswith("_")}
        read = names_of(within)
        assert read is not None
        assert not {each for each in wanted - read if names_of(f"{within}.{each}") is None}
    assert names_of("mamba_ssm.models") is None
    assert "Mamba2" not in (names_of("mamba_ssm") or ())
