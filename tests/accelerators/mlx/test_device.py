"""The device as programs use it: moves, autograd, hooks, random numbers, saving, workers, processes."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.accelerators.mlx.parallel_worker import train
from tests.accelerators.mlx.programs import environment, start_file, wait_all

WORKER = Path(__file__).parent / "parallel_worker.py"


def module() -> Any:
    """What torch.cuda is for CUDA."""
    return getattr(torch, "mlx")  # noqa: B009 - not in torch's types


def test_moves_are_copies_and_go_both_ways() -> None:
    x = torch.arange(4.0)
    y = x.to("mlx")
    y.zero_()
    assert x.tolist() == [0.0, 1.0, 2.0, 3.0] and y.cpu().tolist() == [0.0] * 4
    assert y.to("mlx") is y and y.device == torch.device("mlx:0") and y.is_mlx  # type: ignore[attr-defined]


def test_storages_are_shared_by_views_and_told_apart_by_address() -> None:
    x, y = torch.zeros(4, device="mlx"), torch.zeros(4, device="mlx")
    assert x.data_ptr() != y.data_ptr() and x[2:].data_ptr() == x.data_ptr() + 8
    p = nn.Parameter(x)
    p.data.add_(1)
    assert x.tolist() == [1.0] * 4 and p.detach().untyped_storage().nbytes() == 16


def test_double_backward() -> None:
    for f in (
        lambda x: (x**3).sum(),
        lambda x: nn.functional.gelu(x @ x).sum(),
        lambda x: torch.softmax(x, 0).pow(2).sum(),
    ):
        results = []
        for device in ("cpu", "mlx"):
            x = torch.linspace(-1, 1, 9).reshape(3, 3).to(device).requires_grad_()
            (g,) = torch.autograd.grad(f(x), x, create_graph=True)
            (h,) = torch.autograd.grad((g**2).sum(), x)
            results.append(h.cpu())
        torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)


def test_double_backward_through_attention() -> None:
    results = []
    for device in ("cpu", "mlx"):
        torch.manual_seed(0)
        q, k, v = (torch.randn(1, 2, 5, 8).to(device).requires_grad_() for _ in range(3))
        if device == "mlx":
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:  # the CPU's own fused kernel can be differentiated once only
            out = torch.ops.aten._scaled_dot_product_attention_math(q, k, v, is_causal=True)[0]
        (g,) = torch.autograd.grad(out.pow(2).sum(), q, create_graph=True)
        results.append([t.cpu() for t in torch.autograd.grad(g.pow(2).sum(), (q, k, v))])
    for ours, theirs in zip(results[1], results[0], strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4)


def test_hooks_checkpoint_and_gradient_accumulation() -> None:
    from torch.utils.checkpoint import checkpoint

    layer = nn.Linear(4, 4).to("mlx")
    seen: list[torch.Size] = []
    layer.weight.register_hook(lambda g: seen.append(g.shape))
    x = torch.randn(2, 4, device="mlx", requires_grad=True)
    checkpoint(lambda t: layer(t).relu(), x, use_reentrant=False).sum().backward()
    assert layer.weight.grad is not None and x.grad is not None
    first = layer.weight.grad.clone()
    layer(x).relu().sum().backward()
    torch.testing.assert_close(layer.weight.grad.cpu(), (2 * first).cpu())
    assert seen == [torch.Size([4, 4])] * 2


def test_a_scaled_step_is_no_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDEV_STRICT", "1")
    layer = nn.Linear(2, 2, device="mlx")
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    scaler = torch.amp.GradScaler("mlx", init_scale=8.0)
    before = layer.bias.detach().cpu()
    scaler.scale(layer(torch.ones(1, 2, device="mlx")).sum()).backward()
    scaler.unscale_(optimizer)  # inverts the scale in float64
    nn.utils.clip_grad_norm_(layer.parameters(), 100.0)
    scaler.step(optimizer)
    scaler.update()
    torch.testing.assert_close(layer.bias.detach().cpu(), before - 0.1)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_drops_the_same_again(reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(64, device="mlx", requires_grad=True)
    y = checkpoint(nn.Dropout(0.5), x, use_reentrant=reentrant)
    before = torch.mlx.get_rng_state()  # type: ignore[attr-defined]
    y.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, y)
    assert torch.equal(torch.mlx.get_rng_state(), before)  # type: ignore[attr-defined]


def test_seeds_and_generators_repeat() -> None:
    torch.manual_seed(5)
    a, b = torch.randn(3, device="mlx"), torch.rand(3, device="mlx")
    torch.manual_seed(5)
    assert torch.equal(a, torch.randn(3, device="mlx")) and torch.equal(
        b, torch.rand(3, device="mlx")
    )
    state = module().get_rng_state()
    c = torch.randint(0, 100, (5,), device="mlx")
    module().set_rng_state(state)
    assert torch.equal(c, torch.randint(0, 100, (5,), device="mlx"))
    from tdev_core.accelerators.privateuse.generator import DeviceGenerator

    own = DeviceGenerator(torch.device("mlx", 0))
    draws = []
    for _ in range(2):
        own.manual_seed(9)
        draws.append(torch.randn(3, device="mlx", generator=own))
    assert torch.equal(*draws) and not torch.equal(draws[0], torch.randn(3, device="mlx"))
    with pytest.raises(
        RuntimeError, match="Expected a 'mlx' device type for generator but found 'cpu'"
    ):
        torch.randn(2, device="mlx", generator=torch.Generator())


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"),
    [
        (lambda t: t.normal_(2, 3), 2, 3), (lambda t: t.uniform_(-1, 3), 1, 4 / 12**0.5), (lambda t: t.exponential_(0.5), 2, 2),
        (lambda t: t.bernoulli_(0.3), 0.3, 0.21**0.5), (lambda t: t.geometric_(0.25), 4, 12**0.5),
        (lambda t: t.random_(0, 10), 4.5, 8.25**0.5), (lambda t: t.random_(0, 1 << 20), 2**19, 2**20 / 12**0.5),
        (lambda t: t.log_normal_(0, 0.5), 1.1331, 0.6039),
    ],
)  # fmt: skip
def test_distributions_have_their_moments(draw: object, mean: float, deviation: float) -> None:
    torch.manual_seed(3)
    x = draw(torch.empty(40_000, device="mlx")).cpu().double()  # type: ignore[operator]
    assert (
        abs(x.mean().item() - mean) < 0.03 * deviation
        and abs(x.std().item() / deviation - 1) < 0.05
    )


def test_large_random_integers_fill_their_range() -> None:
    torch.manual_seed(1)
    x = torch.randint(-(2**62), 2**62, (2000,), device="mlx").cpu()
    assert (
        x.unique().numel() == 2000
        and x.min() < -(2**61)
        and x.max() > 2**61
        and (x % 2 == 1).float().mean() > 0.4
    )
    assert sorted(torch.randperm(100, device="mlx").tolist()) == list(range(100))


def test_saving_pickling_and_copying(tmp_path: Path) -> None:
    model = nn.Linear(3, 2).to("mlx")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.ones(1, 3, device="mlx")).sum().backward()
    optimizer.step()
    torch.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "m.pt"
    )
    back = torch.load(tmp_path / "m.pt", weights_only=True)
    assert back["model"]["weight"].device.type == "mlx"
    assert torch.equal(back["model"]["weight"], model.weight)
    on_cpu = torch.load(tmp_path / "m.pt", map_location="cpu", weights_only=True)
    assert on_cpu["model"]["weight"].device.type == "cpu"
    assert torch.equal(on_cpu["model"]["weight"], model.weight.detach().cpu())
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(twin.weight, model.weight)
        twin.weight.data.zero_()
        assert not torch.equal(twin.weight, model.weight)
    wide = torch.tensor([1 + 1e-15], dtype=torch.float64).to("mlx")
    assert (
        copy.deepcopy(wide).item() == 1 + 1e-15
        and pickle.loads(pickle.dumps(wide)).item() == 1 + 1e-15
    )
    x = torch.arange(6.0, device="mlx")
    buffer = io.BytesIO()
    torch.save([x, x[2:4]], buffer)
    buffer.seek(0)
    y, v = torch.load(buffer)
    v.fill_(9)
    assert y.tolist() == [0.0, 1.0, 9.0, 9.0, 4.0, 5.0]


def test_float64_keeps_its_precision(fallbacks: dict[str, int]) -> None:
    x = torch.tensor([1.0, 1e-12], dtype=torch.float64).to("mlx")
    y = x.sum()
    assert y.dtype is torch.float64 and y.item() == 1.0 + 1e-12
    assert x.float().double().device.type == "mlx" and fallbacks["sum.default"] == 1
    z = torch.ones(2, dtype=torch.complex128, device="mlx") * (1 + 1e-12)
    assert z.dtype is torch.complex128 and z[0].real.item() == 1 + 1e-12


def test_tensor_split_with_indices_on_the_cpu() -> None:
    parts = torch.arange(6.0, device="mlx").tensor_split(torch.tensor([2, 4]))
    assert [p.tolist() for p in parts] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]


def test_data_loader_with_workers_and_pinning() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(16.0).reshape(8, 2))
    loader = torch.utils.data.DataLoader(
        data, batch_size=4, num_workers=1, pin_memory=True, multiprocessing_context="spawn"
    )
    total = sum(batch.to("mlx").sum().item() for (batch,) in loader)
    assert total == 120.0


def test_synchronize_and_memory() -> None:
    gc.collect()  # or what an earlier test has left goes meanwhile
    before = module().memory_allocated()
    x = torch.rand(1 << 20, device="mlx")
    module().synchronize()
    assert module().memory_allocated() - before >= 1 << 22
    assert module().max_memory_allocated() >= module().memory_allocated()
    del x
    module().synchronize()
    assert module().memory_allocated() - before < 1 << 22


@pytest.mark.slow
def test_two_processes_train_like_one(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    workers = [
        start_file(WORKER, str(rank), port, f"{tmp_path}/{rank}", env=environment())
        for rank in (0, 1)
    ]
    for done in wait_all(workers, 120):
        assert done.returncode == 0, done.stderr[-3000:]
    found = [torch.load(tmp_path / str(rank), weights_only=True) for rank in (0, 1)]
    for one, first, second in zip(train(), *(f["parameters"] for f in found), strict=True):
        torch.testing.assert_close(first, one, rtol=1e-5, atol=1e-6)
        assert torch.equal(first, second)
    assert found[0]["messages"] == [[2.0] * 3, [0.0, 1.0], 1, [[5.0, 5.0], [6.0, 6.0]]]


def test_a_slice_of_a_storage_writes_to_it() -> None:
    x = torch.arange(8, dtype=torch.uint8, device="mlx")
    part = x.untyped_storage()[2:6]
    part.copy_(torch.full((4,), 9, dtype=torch.uint8, device="mlx").untyped_storage())
    assert x.tolist() == [0, 1, 9, 9, 9, 9, 6, 7]
    part[1:3].fill_(5)
    x[2] = 1
    assert part.tolist() == [1, 5, 5, 9] and x.tolist() == [0, 1, 1, 5, 5, 9, 6, 7]


def test_storages_copy_their_bytes() -> None:
    for dtype in (torch.float32, torch.float64):
        a, b = torch.zeros(3, dtype=dtype, device="mlx"), torch.arange(3, dtype=dtype).to("mlx")
        a.untyped_storage().copy_(b.untyped_storage())
        assert a.tolist() == [0.0, 1.0, 2.0]
        a.untyped_storage().copy_((b.cpu() + 1).untyped_storage())
        assert a.tolist() == [1.0, 2.0, 3.0]


def test_memory_does_not_grow_over_steps_that_nobody_looks_at() -> None:
    import mlx.core as mx

    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8)).to("mlx")
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    x = torch.randn(16, 32, device="mlx")
    peaks = []
    for step in range(400):
        if step in (100, 300):
            mx.reset_peak_memory()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        if step in (199, 399):
            module().synchronize()
            peaks.append(mx.get_peak_memory())
    assert peaks[1] <= 1.2 * peaks[0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_moves_that_need_not_block_move(dtype: torch.dtype) -> None:
    x = torch.arange(3, dtype=dtype, device="mlx")
    assert x.to("cpu", non_blocking=True).tolist() == [0, 1, 2]
    assert x.to("cpu", torch.float64, non_blocking=True).dtype is torch.float64
    assert torch.arange(3).to("mlx", non_blocking=True).tolist() == [0, 1, 2]


def test_what_is_held_counts_in_the_peak_after_a_reset() -> None:
    x = torch.rand(256, 256).to("mlx")
    module().synchronize()
    module().reset_peak_memory_stats()
    assert module().max_memory_allocated() >= module().memory_allocated() >= x.nbytes


def test_strided_nested_tensors_are_refused_by_name_and_jagged_ones_computed() -> None:
    from tdev_core.errors import UnsupportedError

    rows = [torch.ones(2, 3), torch.ones(1, 3)]
    strided = torch.nested.nested_tensor(rows, device="mlx")
    for refused in (
        lambda: strided * 2,
        lambda: strided.to_padded_tensor(0.0),
        lambda: strided.softmax(-1),
        lambda: strided.unbind(),
        lambda: torch.nested.nested_tensor(rows).to("mlx"),
    ):
        with pytest.raises(UnsupportedError, match="layout=torch.jagged"):
            refused()
    jagged = torch.nested.nested_tensor(rows, device="mlx", layout=torch.jagged)
    assert (jagged * 2).sum().item() == 18
