"""Another way to compute: on the CPU, in autocast; and what of it is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

from tdev_core.errors import ConfigError
from tdev_core.measure import diffing, ways
from tdev_core.measure.diffing import Sides
from tests.forkserver import environment, python


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        (("cpu", "gpu"), "gpu: no backend. There are cuda"),
        (("cpu", "cpu"), "cpu twice is one run"),
        (("cpu", "mlx", True), "compared on one backend"),
        (("sim", "sim", True), "sim has no compiler"),
        (("cpu", "cpu", True, "bfloat16"), "nothing else is changed"),
        (("cpu", "cpu", False, "int8"), "autocast int8: there are bfloat16 and float16"),
        (("cpu", "cpu", False, "", True), "there is nothing to fall back"),
    ],
)
def test_what_means_nothing_is_refused(sides: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Sides(*sides)


def test_sides_are_called_by_what_they_are() -> None:
    assert Sides("cpu", "cpu", compiled=True).names == ("cpu eager", "cpu compiled")
    both = Sides("cpu", "mlx", autocast="bfloat16", fallbacks=True).names
    assert both == ("cpu", "mlx with autocast to bfloat16 with everything falling back")
    assert Sides("", "mlx").names == ("the recording", "mlx")


def train() -> None:
    """Is called in processes of its own."""


def test_a_function_is_found_by_its_name_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert diffing._importable(train) == ("", __name__, "train")
    main = ModuleType("__main__")
    main.__file__ = str(tmp_path / "script.py")
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setattr(train, "__module__", "__main__")
    assert diffing._importable(train) == (str(tmp_path), "script", "train")
    for nowhere in (lambda: None, test_sides_are_called_by_what_they_are.__get__(1)):
        if nowhere.__name__ == "<lambda>":
            with pytest.raises(ConfigError, match="define it at the top of a module"):
                diffing._importable(nowhere)


def test_backends_are_counted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="one or two backends are needed"):
        diffing.diff(train, on=("cpu", "sim", "mlx"))
    with pytest.raises(ConfigError, match="one backend is needed"):
        diffing.diff(train, on=("cpu", "sim"), against=tmp_path)
    with pytest.raises(ConfigError, match="no such directory"):
        diffing.diff(train, on="sim", against=tmp_path / "nowhere")


def test_models_are_called_in_autocast_and_give_what_the_program_expects() -> None:
    seen: list[torch.dtype] = []

    class Inner(nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            found = super().forward(input)
            seen.append(found.dtype)
            return found

    model, plain = nn.Sequential(Inner(2, 2), Inner(2, 2)), nn.Module.__call__
    end = ways.around_models(ways.in_autocast(torch.bfloat16))
    try:
        found = model(torch.ones(1, 2))
    finally:
        end()
    assert seen == [torch.bfloat16] * 2 and found.dtype is torch.float32
    assert nn.Module.__call__ is plain


FALLS_BACK = """
import tdev as torch
from tdev_core.measure.ways import fallen_back
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
class Back(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return fallen_back(func, args, kwargs or {})
def program(device):
    torch.manual_seed(0)
    image = torch.arange(48.0).reshape(1, 3, 4, 4).div(48).to(device).requires_grad_()
    weight = torch.linspace(-1, 1, 54).reshape(2, 3, 3, 3).to(device).requires_grad_()
    bias = torch.ones(2).to(device).requires_grad_()
    found = torch.nn.functional.conv2d(image, weight, bias, padding=1).relu().flatten(1)
    found = torch.nn.functional.linear(found, torch.linspace(0, 1, 64).reshape(2, 32).to(device))
    found.square().sum().backward()
    with torch.no_grad():
        bias.mul_(2).view(2, 1)[0].add_(1)
        out = torch.empty(2, device=device)
        torch.add(bias, 1, out=out)
    assert all(one.device.type == image.device.type for one in (found, bias.grad, out))
    return [one.detach().cpu() for one in (found, image.grad, weight.grad, bias.grad, bias, out)]
reference = program("cpu")
with Back():
    found = program("cuda")
torch.testing.assert_close(found, reference)
"""


@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_operators_fall_back_with_what_they_read_and_write(backend: str) -> None:
    if backend == "mlx":
        pytest.importorskip("mlx", reason="MLX is not installed; where it is, this runs")
    done = python("-c", FALLS_BACK, env=environment(TDEV_BACKEND=backend))
    assert done.returncode == 0, done.stderr


@pytest.mark.deep  # four interpreters
def test_a_function_is_compared_in_code(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nimport tdev as torch\n"
        "def train():\n"
        "    x = torch.ones(4, device='cuda')\n"
        "    y = x.clamp(max=0.5 if os.environ['TDEV_BACKEND'] == 'sim' else 1)\n"
        "if __name__ == '__main__':\n"
        "    found = torch.numerics.diff(train, on=('cpu', 'sim'))\n"
        "    assert not found.agree and found.first.key[0].site == 'script.py:5', found.first\n"
        "    print(found)\n"
    )
    done = python(str(script), env=environment(TDEV_BACKEND="cpu"), cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "The first difference: clamp of torch.Tensor.clamp in script.py:5" in done.stdout
