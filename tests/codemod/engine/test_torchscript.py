"""What the codemod leaves of scripted code is compiled, and run, by TorchScript itself."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, Style, rewrite
from tests.forkserver import environment, python

pytest.importorskip("tdev")

SOURCE = """\
import torch
from torch import nn


def shifted(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda or x.device.type == "cuda" or x.device.type in ["cuda", "mps"]:
        return x + 2
    return x + 1


@torch.jit.script
def noise(x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(2, device="cuda") + torch.ones(2, device=torch.device("cuda", 0))
    return shifted(x.to("cuda")) + made + x.cuda()


def moved(x: torch.Tensor, device: str) -> torch.Tensor:
    if not torch.jit.is_scripting() and x.dim() > 0:
        if torch.cuda.is_available():
            torch.cuda.synchronize()
    return x.to(device) + torch.zeros(2, device=device)


class Scale(nn.Module):
    def forward(self, x):
        return x * torch.full([1], 2.0, device="cuda")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(2, 2), Scale())

    def forward(self, x):
        self.log(x)
        return self.parts(x) + self.added(x)

    def added(self, x):
        return torch.ones(2, device="cuda")

    @torch.jit.ignore
    def log(self, x: torch.Tensor) -> None:
        assert torch.cuda.device_count() >= 0


scripted = torch.jit.script(moved)


def main():
    x = torch.ones(2).cuda()
    module = torch.jit.script(Net().to("cuda"))
    print(*(y.device.type for y in (noise(x), scripted(x, "cuda"), module(x))))
"""


def _program(folder: Path, style: Style) -> Path:
    result = rewrite(SOURCE, Names.load(), Options(style=style))
    assert result.edits
    path = folder / "program.py"
    path.write_text(result.code, encoding="utf-8")
    return path


def _run(path: Path, code: str, backend: str) -> subprocess.CompletedProcess[str]:
    return python("-c", code, env=environment(TDEV_BACKEND=backend), cwd=path.parent)


@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.parametrize("style", ["explicit", "alias"])
def test_scripts_run_on_the_backend(tmp_path: Path, style: Style, backend: str) -> None:
    path = _program(tmp_path, style)
    done = _run(path, "import program; program.main()", backend)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [backend] * 3


def test_scripts_stay_as_they_are_without_tdev() -> None:
    """What TorchScript compiles goes on naming CUDA; what it leaves out, behind `is_scripting`, is generic."""
    result = rewrite(SOURCE, Names.load(), Options(style="accelerator"))
    assert {edit.line for edit in result.edits} == {19, 20}
    assert result.findings
