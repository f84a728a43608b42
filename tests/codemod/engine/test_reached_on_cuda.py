"""Functions that one file of a tree uses, where a question for CUDA opens it that stays."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from tdev_core.codemod.engine import Names, Options, Survey, rewrite
from tests.codemod.small_trees import migrated

CODE = """\
import torch


class Separator:
    def set_up(self):
        if torch.cuda.is_available():
            self.configure_cuda()
        elif torch.backends.mps.is_available():
            self.configure_mps()

    def configure_cuda(self):
        self.device = torch.device("cuda")
        torch.cuda.set_device(self.device)

    def configure_mps(self):
        self.device = torch.device("mps")


def free():
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize(
    ("other", "stays"),
    [
        ("import torch\ntorch.cuda.synchronize()\n", True),
        ("def run(separator):\n    separator.configure_cuda()\n", False),
        ("from .separator import Separator\ntorch.cuda.synchronize()\n", True),
    ],
)
def test_a_method_that_only_what_stays_calls(other: str, stays: bool) -> None:
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/separator.py"), CODE.encode(), "pkg")
    seen.see(PurePath("/src/pkg/other.py"), other.encode(), "pkg")
    options = Options(tree=seen.tree())
    code = rewrite(CODE, Names.load(), options, filename="/src/pkg/separator.py").code
    assert ("    torch.cuda.set_device(self.device)" in code) is stays
    assert "    tdev.cuda.empty_cache()" in code


def test_a_function_that_is_called_off_cuda_as_well() -> None:
    code = CODE.replace("        elif", "        self.configure_cuda()\n        if")
    seen = Survey(staying=False)
    seen.see(PurePath("/src/pkg/separator.py"), code.encode(), "pkg")
    options = Options(tree=seen.tree())
    changed = rewrite(code, Names.load(), options, filename="/src/pkg/separator.py").code
    assert "    tdev.cuda.set_device(self.device)" in changed


DEVICES = {
    "device_gpu.py": """import torch


class DeviceGPU:
    def __init__(self):
        if not torch.cuda.is_available():
            raise ValueError("there is no CUDA")
        torch.cuda.set_device(0)
""",
    "device_mps.py": """import torch


class DeviceMPS:
    def __init__(self):
        if not torch.backends.mps.is_available():
            raise ValueError("there is no MPS")
""",
}
TRAINER = """import torch
from .device_gpu import DeviceGPU


def _is_adaptive(size, device):
    if size == "auto":
        if not isinstance(device, DeviceGPU):
            raise ValueError("adapts on GPUs alone")
        return True
    return False


class Trainer:
    def __init__(self, size, device):
        self.adaptive = _is_adaptive(size, device)

    def step(self, failed):
        full = 0
        try:
            self.run()
        except RuntimeError as error:
            if self.adaptive and "memory" in str(error):
                full = 1
        if full == 1:
            _shrink()
        if failed:
            _free()

    def run(self):
        torch.cuda.synchronize()


def _shrink():
    torch.cuda.empty_cache()


def _free():
    torch.cuda.empty_cache()
"""


@pytest.mark.parametrize("beside", [True, False])
def test_what_an_object_of_cudas_class_alone_leads_to(beside: bool) -> None:
    """A class that refuses to be made without CUDA, in a module beside those of other accelerators."""
    seen = Survey(staying=False)
    for name, text in DEVICES.items():
        if beside or name == "device_gpu.py":
            seen.see(PurePath("/src/pkg", name), text.encode(), "pkg")
    seen.see(PurePath("/src/pkg/trainer.py"), TRAINER.encode(), "pkg")
    options = Options(tree=seen.tree())
    code = rewrite(TRAINER, Names.load(), options, filename="/src/pkg/trainer.py").code
    shrinks, _, frees = code.partition("def _shrink")[2].partition("def _free")
    assert ("    torch.cuda.empty_cache()" in shrinks) is beside
    assert "    tdev.cuda.empty_cache()" in frees
    assert "tdev.cuda.synchronize()" in code


LEAST_USED = """import torch
from lightning import Trainer

from .machine import get_gpu_memory, report


def build(n, devices):
    if torch.cuda.is_available() and n < torch.cuda.device_count():
        devices = sorted(get_gpu_memory())[:n]
    return Trainer(devices=devices)


def tell():
    if torch.cuda.is_available():
        report(torch.cuda.memory_allocated())
"""


def test_a_function_of_another_file_that_runs_nvidias_tool() -> None:
    """By the last of its lines, which is as good as any."""
    code = migrated(
        {
            "machine.py": "from subprocess import check_output\n\n\ndef report(used):\n    print(used)\n\n\n"
            'def get_gpu_memory():\n    return check_output(["nvidia-smi", "--query-gpu=memory.free"])\n',
            "made.py": LEAST_USED,
        }
    ).code
    assert "if torch.cuda.is_available() and n < torch.cuda.device_count():" in code
    assert "report(tdev.cuda.memory_allocated())" in code
