"""Models train on ``sim`` with the CPU's numbers, to the last bit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    """One causal block with dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 16)
        self.norm = nn.LayerNorm(16)
        self.qkv = nn.Linear(16, 48)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(16, 11)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(y.transpose(1, 2).reshape(x.shape))
        return self.head(x).mean(1)


class Tagger(nn.Module):
    """Embedding, recurrent layer, linear layer."""

    def __init__(self, kind: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.rnn = kind(8, 12, 2, batch_first=True, bidirectional=True, dropout=0.2)  # type: ignore[arg-type]
        self.head = nn.Linear(24, 11)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.rnn(self.embed(tokens))[0]).mean(1)  # type: ignore[no-any-return]


def convolutional() -> nn.Module:
    return nn.Sequential(
        nn.Embedding(11, 8),
        nn.Unflatten(1, (1, 6)),
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.GroupNorm(2, 4),
        nn.ConvTranspose2d(4, 4, 2),
        nn.Dropout2d(0.3),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 11),
    )


MODELS: dict[str, Callable[[], nn.Module]] = {
    "attention": Attention,
    "encoder": lambda: nn.Sequential(
        nn.Embedding(11, 16),
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True),
        nn.Flatten(),
        nn.Linear(96, 11),
    ),
    "lstm": lambda: Tagger(nn.LSTM),
    "gru": lambda: Tagger(nn.GRU),
    "rnn": lambda: Tagger(nn.RNN),
    "convolutional": convolutional,
}


def train(make: Callable[[], nn.Module], device: str, **options: Any) -> list[torch.Tensor]:
    """Losses, then parameters; parameters are drawn on the CPU and dropout on the device."""
    torch.manual_seed(3)
    model = make().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, **options)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)
    losses = []
    for _ in range(5):
        tokens = torch.randint(11, (4, 6)).to(device)
        loss = F.cross_entropy(model(tokens), tokens[:, 0])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach().cpu())
    return losses + [p.detach().cpu() for p in model.parameters()]


@pytest.mark.parametrize("device", ["sim:0"])
@pytest.mark.parametrize("name", MODELS)
def test_losses_are_the_cpus(name: str, device: str) -> None:
    expected, actual = train(MODELS[name], "cpu"), train(MODELS[name], device)
    assert len({float(x) for x in expected[:5]}) == 5
    assert all(torch.equal(x, y) for x, y in zip(expected, actual, strict=True))


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {"foreach": False}])
def test_optimizer_implementations(options: dict[str, bool]) -> None:
    expected = train(MODELS["attention"], "cpu", **options)
    actual = train(MODELS["attention"], "sim", **options)
    assert all(torch.equal(x, y) for x, y in zip(expected, actual, strict=True))


@pytest.mark.parametrize(
    "kind", ["SGD", "Adam", "Adagrad", "RMSprop", "Adadelta", "NAdam", "LBFGS"]
)
def test_optimizers(kind: str) -> None:
    def run(device: str) -> torch.Tensor:
        torch.manual_seed(1)
        layer = nn.Linear(4, 3).to(device)
        optimizer = getattr(torch.optim, kind)(layer.parameters())
        x = torch.randn(5, 4).to(device)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = layer(x).square().mean()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return layer.weight.detach().cpu()

    assert torch.equal(run("cpu"), run("sim"))


def test_moving_a_module_keeps_its_parameters() -> None:
    model = nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weight = model.weight
    model.to("sim")
    assert model.weight is weight and weight.device.type == "sim"
    before = weight.detach().clone()
    model(torch.randn(2, 3, device="sim")).sum().backward()
    optimizer.step()
    assert not torch.equal(weight.detach(), before)
    model.cpu()
    assert model.weight is weight and weight.grad is not None and weight.grad.is_cpu


def test_lazy_modules() -> None:
    model = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).to("sim")
    assert model(torch.randn(2, 5, device="sim")).shape == (2, 3)
    assert next(model.parameters()).device.type == "sim"


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_draws_the_same_dropout(reentrant: bool) -> None:
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.LSTM(8, 8))

    def run(device: str) -> list[torch.Tensor]:
        moved = copy.deepcopy(model).to(device)
        torch.manual_seed(2)
        x = torch.randn(4, 8).to(device).requires_grad_()
        y = checkpoint(moved, x, use_reentrant=reentrant)[0]
        y.square().sum().backward()
        after = torch.rand(2, device=device)
        assert x.grad is not None
        return [y.detach().cpu(), x.grad.cpu(), after.cpu()]

    expected = run("cpu")
    assert expected[1].abs().sum() > 0
    assert all(torch.equal(a, b) for a, b in zip(expected, run("sim"), strict=True))


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoint_draws_the_same_dropout_from_the_devices_own_numbers(reentrant: bool) -> None:
    torch.sim.manual_seed(1)  # type: ignore[attr-defined]  # no longer the CPU's
    x = torch.ones(64, device="sim", requires_grad=True)
    y = checkpoint(nn.Dropout(0.5), x, use_reentrant=reentrant)
    before = torch.sim.get_rng_state()  # type: ignore[attr-defined]
    y.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, y)
    assert torch.equal(torch.sim.get_rng_state(), before)  # type: ignore[attr-defined]


def test_double_backward() -> None:
    def run(device: str) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv1d(2, 3, 2), nn.Tanh(), nn.Flatten(), nn.Linear(9, 1)).to(
            device
        )
        x = torch.randn(2, 2, 4).to(device).requires_grad_()
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        gradient.square().sum().backward()
        return [p.grad.cpu() for p in model.parameters() if p.grad is not None]

    expected = run("cpu")
    assert expected and all(torch.equal(a, b) for a, b in zip(expected, run("sim"), strict=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype: torch.dtype) -> None:
    layer = nn.Linear(4, 4, device="sim")
    x = torch.randn(2, 4, device="sim")
    with torch.autocast("sim", dtype=dtype):
        y = layer(x)
        assert y.dtype == dtype and F.softmax(y, -1).dtype == torch.float32
        assert (y + x).dtype == torch.float32 and F.layer_norm(y, (4,)).dtype == torch.float32
        assert torch.addcmul(x, y, y).dtype == torch.float32
        assert (x.double() @ x.double().t()).dtype == torch.float64
        with torch.autocast("sim", enabled=False):
            assert layer(x).dtype == torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(torch.sigmoid(y), torch.ones_like(y))
    y.float().sum().backward()
    assert layer.weight.grad is not None and layer.weight.grad.dtype == torch.float32
    assert torch.equal(y, F.linear(x.to(dtype), layer.weight.to(dtype), layer.bias.to(dtype)))
    assert not torch.is_autocast_enabled("sim") and layer(x).dtype == torch.float32


def test_autocast_refuses_other_types() -> None:
    with pytest.warns(UserWarning, match="not support"), torch.autocast("sim", dtype=torch.float64):
        assert not torch.is_autocast_enabled("sim")


def test_grad_scaler() -> None:
    layer = nn.Linear(4, 4, device="sim")
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("sim", init_scale=8.0, growth_interval=2)
    scales = []
    for factor in (1.0, 1.0, float("inf")):
        before = layer.weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("sim", dtype=torch.float16):
            loss = layer(torch.ones(2, 4, device="sim")).float().mean() * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        assert torch.equal(before, layer.weight.detach()) is (factor == float("inf"))
    assert scales == [8.0, 16.0, 8.0]


def test_data_loader() -> None:
    from torch.utils.data import DataLoader, TensorDataset

    loader = DataLoader(
        TensorDataset(torch.arange(8.0)), 4, num_workers=2, pin_memory=True, shuffle=True
    )
    torch.ones(1, device="sim")  # the workers are forked from a process that has used the device
    batches = [batch.to("sim", non_blocking=True) for (batch,) in loader]
    assert sorted(torch.cat(batches).tolist()) == list(range(8))


def test_data_parallel_modules_on_both_devices() -> None:
    first, second = nn.Linear(4, 4, device="sim:0"), nn.Linear(4, 1, device="sim:1")
    loss = second(first(torch.ones(2, 4, device="sim:0")).to("sim:1")).sum()
    loss.backward()
    assert first.weight.grad is not None and first.weight.grad.device.index == 0
    assert second.weight.grad is not None and second.weight.grad.device.index == 1
    both = [*first.parameters(), *second.parameters()]
    norm = nn.utils.clip_grad_norm_(both, 1.0, foreach=True)
    torch.optim.AdamW(both).step()
    assert norm.item() > 0


def test_forward_derivatives_are_copied_with_their_tensor() -> None:
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.full((2,), 3.0))
        copies = [dual.to("sim"), torch.empty(2, device="sim").copy_(dual), dual.to("sim").cpu()]
        for copied in copies:
            tangent = torch.autograd.forward_ad.unpack_dual(copied).tangent
            assert copied.tolist() == [1, 1] and tangent is not None and tangent.tolist() == [3, 3]


def test_attention_does_not_lose_the_tangent_of_what_needs_no_gradient() -> None:
    query, key, value = (torch.ones(1, 1, 3, 4, device="sim") for _ in range(3))
    query.requires_grad_()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(key, torch.ones_like(key))
        with pytest.raises(NotImplementedError, match="jvp"):
            torch.nn.functional.scaled_dot_product_attention(query, dual, value)
