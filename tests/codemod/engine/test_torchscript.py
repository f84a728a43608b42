"""What the codemod leaves of scripted code is compiled, and run, by TorchScript itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, Style, rewrite
from tests.codemod import forked

pytest.importorskip("tdev")

pytestmark = pytest.mark.xdist_group("codemod torchscript")  # one process runs them all

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


def _job(folder: Path, code: str, backend: str) -> dict[str, Any]:
    (folder / "main.py").write_text(code, encoding="utf-8")
    return {
        "arguments": ["main.py"],
        "cwd": str(folder),
        "variables": {"TDEV_BACKEND": backend},
    }


RUNS = [(style, backend) for style in ("explicit", "alias") for backend in ("cpu", "sim")]


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], dict[str, Any]]:
    """What the program came to in each style on each backend, and its scripts without tdev."""
    jobs = []
    for style in STYLES:
        folder = tmp_path_factory.mktemp(style)
        path = _program(folder, style)
        if style == "accelerator":
            assert "torch.accelerator.synchronize()" in path.read_text(encoding="utf-8")
            compiled = "import torch, program; torch.jit.script(program.Net())"
            jobs.append(_job(folder, compiled, "cpu"))
        else:
            main = "import program; program.main()"
            jobs += [_job(folder, main, backend) for backend in ("cpu", "sim")]
    return dict(zip([*RUNS, ("accelerator", "")], forked.outcomes(jobs), strict=True))


@pytest.mark.parametrize(("style", "backend"), RUNS)
def test_scripts_run_on_the_backend(
    style: str, backend: str, outcomes: dict[tuple[str, str], dict[str, Any]]
) -> None:
    outcome = outcomes[style, backend]
    assert outcome["status"] == 0, outcome["err"]
    assert outcome["out"].split() == [backend] * 3


def test_scripts_are_compiled_as_before_without_tdev(
    outcomes: dict[tuple[str, str], dict[str, Any]],
) -> None:
    assert outcomes["accelerator", ""]["status"] == 0, outcomes["accelerator", ""]["err"]
