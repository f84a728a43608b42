"""The stand-in for apex.amp: gradients are those of the loss, whatever its scale, and steps are float32's."""

from __future__ import annotations

import copy
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core.errors import UnsupportedError
from tdev_core.packages.apex import amp
from tests import forkserver


@pytest.fixture(autouse=True)
def afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(amp, "_state", amp._State())


def model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1)
    )


def made(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def step(net: Any, optimizer: Any, x: torch.Tensor) -> None:
    optimizer.zero_grad()
    with amp.scale_loss(net(x).square().mean(), optimizer) as scaled:
        scaled.backward()
    optimizer.step()


@pytest.mark.parametrize("scale", [1.0, "128.0", "dynamic"])
def test_float32_is_as_without(scale: Any) -> None:
    net, plain = model(), model()
    optimizer, other = (torch.optim.SGD(one.parameters(), 0.1, 0.9) for one in (net, plain))
    net, optimizer = amp.initialize(net, optimizer, opt_level="O0", loss_scale=scale)
    for number in range(3):
        step(net, optimizer, made(5, 4) + number)
        other.zero_grad()
        plain(made(5, 4) + number).square().mean().backward()
        other.step()
    torch.testing.assert_close(net.state_dict(), plain.state_dict())


def test_two_losses_add_up_and_each_has_its_scale() -> None:
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    [net], [optimizer] = amp.initialize(
        [net], [optimizer], opt_level="O0", loss_scale="dynamic", num_losses=2
    )
    for number in range(2):
        with amp.scale_loss(
            net(made(3, 4)).sum() * (number + 1), [optimizer], loss_id=number
        ) as scaled:
            scaled.backward()
    torch.testing.assert_close(net.weight.grad[0], 3 * made(3, 4).sum(0))
    with (
        pytest.warns(UserWarning, match="reducing loss scale to 32768"),
        amp.scale_loss(net(made(3, 4)).sum() * float("inf"), optimizer, loss_id=1) as scaled,
    ):
        scaled.backward()
    kept = amp.state_dict()
    assert kept == {
        "loss_scaler0": {"loss_scale": 65536.0, "unskipped": 1},
        "loss_scaler1": {"loss_scale": 32768.0, "unskipped": 0},
    }
    amp.load_state_dict(
        {"loss_scaler0": {"loss_scale": 4.0, "unskipped": 7}, "loss_scaler1": kept["loss_scaler1"]}
    )
    assert amp.state_dict()["loss_scaler0"] == {"loss_scale": 4.0, "unskipped": 7}


def test_o2_steps_float32_copies_of_a_model_in_float16() -> None:
    """Against the same written out: float16 weights, float32 sums of steps, batch norm in float32."""
    net, plain = model(), model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9)
    net, optimizer = amp.initialize(net, optimizer, opt_level="O2", loss_scale=128.0)
    assert [p.dtype for p in net[0].parameters()] == [torch.float16] * 2
    assert net[1].weight.dtype == net[1].running_mean.dtype == torch.float32
    assert all(p.dtype == torch.float32 for p in amp.master_params(optimizer))
    masters = [p.detach().half().float().clone() for p in plain[0].parameters()]
    masters += [p.detach().clone() for p in plain[1].parameters()]
    masters += [p.detach().half().float().clone() for p in plain[2].parameters()]
    momenta = [torch.zeros_like(p) for p in masters]
    plain[0].half(), plain[2].half()
    own = list(plain.parameters())
    for number in range(4):
        x = made(5, 4) + number
        step(net, optimizer, x)
        loss = plain(x.half()).float().square().mean() * 128.0
        found = torch.autograd.grad(loss, own)
        for master, momentum, gradient, parameter in zip(masters, momenta, found, own, strict=True):
            momentum.mul_(0.9).add_(gradient.float() / 128.0)
            master.sub_(0.1 * momentum)
            parameter.data.copy_(master)
    assert net(made(5, 4)).dtype == torch.float32
    torch.testing.assert_close(list(amp.master_params(optimizer)), masters)
    torch.testing.assert_close(list(net.parameters()), own)
    optimizer.zero_grad()
    assert all(p.grad is None for p in net.parameters())


def test_o3_is_float16_throughout() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = amp.initialize(net, optimizer, opt_level="O3", keep_batchnorm_fp32="False")
    assert {p.dtype for p in net.parameters()} == {torch.float16}
    before = copy.deepcopy(net.state_dict())
    step(net, optimizer, made(5, 4))
    assert not torch.equal(before["0.weight"], net.state_dict()["0.weight"])
    assert amp.state_dict()["loss_scaler0"]["loss_scale"] == 1.0


def test_a_step_with_an_overflow_is_left_out_and_the_scale_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(amp, "_GROWTH", 2)
    net = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    net, optimizer = amp.initialize(net, optimizer, opt_level="O2", max_loss_scale=2.0**17)
    before = copy.deepcopy(net.state_dict())
    with pytest.warns(UserWarning, match="Gradient overflow. Skipping step"):
        step(net, optimizer, made(3, 4) * 3e4)
    torch.testing.assert_close(net.state_dict(), before)
    scales = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(6):
            step(net, optimizer, made(3, 4) * 1e-3)
            scales.append(amp.state_dict()["loss_scaler0"]["loss_scale"])
    assert not torch.equal(before["weight"], net.state_dict()["weight"])
    assert scales == [2.0**n for n in (15, 16, 16, 17, 17, 17)]


def test_switched_off_it_does_nothing() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with (
        pytest.raises(RuntimeError, match="call amp.initialize before"),
        amp.scale_loss(made(1), optimizer),
    ):
        pass
    assert amp.initialize(net, optimizer, enabled=False, opt_level="O9") == (net, optimizer)
    assert amp.initialize(net, enabled=False) is net


def test_what_cannot_be() -> None:
    net = model()
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    with pytest.raises(RuntimeError, match="opt_level is '01'; 'O0', "):
        amp.initialize(net, optimizer, opt_level="01")
    with pytest.raises(UnsupportedError, match="patches torch's functions with O1"):
        amp.initialize(net, optimizer, opt_level="O2", patch_torch_functions=True)
    with pytest.raises(RuntimeError, match="keep_batchnorm_fp32 is 'yes'"):
        amp.initialize(net, optimizer, opt_level="O2", keep_batchnorm_fp32="yes")
    amp.initialize(net, opt_level="O0")
    with (
        pytest.raises(RuntimeError, match="was not given to amp.initialize"),
        amp.scale_loss(made(1), optimizer),
    ):
        pass
    with pytest.raises(AttributeError, match="apex.amp.half_function is not in the stand-in"):
        _ = amp.half_function


PROGRAM = """\
import torch
from apex import amp
from apex.optimizers import FusedAdam

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x):
        hidden = self.fc(x)
        seen.append((hidden.dtype, self.norm(hidden).dtype))
        return hidden

seen = []
torch.manual_seed(0)
net = Net().cuda()
optimizer = FusedAdam(net.parameters(), lr=1e-2)
net, optimizer = amp.initialize(net, optimizer, opt_level="O1")
losses = []
x = torch.randn(16, 8, generator=torch.Generator().manual_seed(1)).cuda()
for _ in range(5):
    loss = (net(x) - x).square().mean()
    optimizer.zero_grad()
    with amp.scale_loss(loss, optimizer) as scaled:
        scaled.backward()
    optimizer.step()
    losses.append(loss.item())
print(seen[0], net(x).dtype, next(net.parameters()).dtype, losses == sorted(losses, reverse=True))
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_o1_is_autocast_by_cudas_lists(tmp_path: Path, backend: str) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    env = forkserver.environment(TDEV_BACKEND=backend, TDEV_CACHE_DIR=str(tmp_path / "cache"))
    done = forkserver.python("-m", "tdev", "run", str(script), env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "(torch.float16, torch.float32) torch.float32 torch.float32 True\n"
