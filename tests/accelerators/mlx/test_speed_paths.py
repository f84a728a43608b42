"""What is done for speed changes no value, and is done: channels last, unfolded convolutions, shared work, copied factors."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from tdev_core.accelerators.mlx import layout, runtime
from tdev_core.accelerators.mlx.compiler import backend
from tdev_core.accelerators.mlx.ops import conv, matmul, unfolded
from tdev_core.accelerators.mlx.storage.contents import array_of


@pytest.fixture(autouse=True)
def drawn_alike() -> None:
    """In one draw of a hundred ``block`` lies so near its threshold that float32 on the CPU misses float64, too."""
    torch.manual_seed(0)


def same(f: Callable[..., Tensor], *inputs: Tensor) -> None:
    """`f` and its gradients are equal on the device and on the CPU."""
    found = []
    for device in ("cpu", "mlx"):
        given = [x.to(device).detach().requires_grad_() for x in inputs]
        out = f(*given)
        found.append((out, *torch.autograd.grad((out * out).sum() + out.sum(), given)))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(b.detach().cpu(), a.detach(), rtol=2e-4, atol=2e-4)


def block(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    y = F.conv2d(x, w, padding=1)
    z = F.batch_norm(y, None, None, b, b, True).relu_()
    z = torch.where(z > 0.1, z * y, b[:, None, None]) + 0.5
    return F.max_pool2d(z, 2) - b[:, None, None]


def test_elementwise_work_stays_channels_last() -> None:
    x, w, b = torch.randn(2, 4, 6, 8), torch.randn(5, 4, 3, 3), torch.randn(5)
    same(block, x, w, b)
    out = block(x.to("mlx"), w.to("mlx"), b.to("mlx"))
    assert id(array_of(out)) in layout.below
    assert layout.last(array_of(out)).shape == (2, 3, 4, 5)
    assert id(array_of(out.mean((2, 3)))) not in layout.below


def test_comparing_whole_tensors_is_not_elementwise(fallbacks: dict[str, int]) -> None:
    x, w = torch.randn(1, 4, 1, 5, device="mlx"), torch.randn(1, 4, 1, 1, device="mlx")
    out = F.conv2d(x, w)
    assert id(array_of(out)) in layout.below
    assert torch.equal(out, out.clone()) and not torch.equal(out, out + 1)
    assert not torch.equal(out, out.clone().view(5))  # the same numbers in another shape
    assert not fallbacks


def test_compiled_graphs_stay_channels_last_too() -> None:
    torch._dynamo.reset()
    x, w, b = torch.randn(2, 4, 6, 8), torch.randn(5, 4, 3, 3), torch.randn(5)
    same(lambda *a: torch.compile(block, backend="mlx")(*a) if a[0].device.type == "mlx" else block(*a), x, w, b)  # fmt: skip


def test_views_are_forgotten_with_their_arrays() -> None:
    before = len(layout.below)
    y = layout.first(mx.zeros((2, 3, 3, 4)))
    assert len(layout.below) == before + 1 and layout.last(y).shape == (2, 3, 3, 4)
    del y
    assert len(layout.below) == before


@pytest.mark.parametrize(
    ("stride", "padding", "dilation"),
    list(itertools.product([(1, 1), (2, 1)], [(0, 0), (1, 2), (3, 0)], [(1, 1), (1, 2)])),
)
def test_unfolded_convolutions_are_mlx_own(
    stride: Any, padding: Any, dilation: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runtime, "on_cpu", True)
    x, w = mx.random.normal((2, 9, 8, 17)), mx.random.normal((16, 3, 2, 17))
    options = [list(v) for v in (stride, padding, dilation)]

    def own(a: Any) -> Any:
        return mx.conv_general(
            a, w, stride=stride, padding=padding, kernel_dilation=dilation, groups=1
        )

    y = unfolded.correlate(x, w, *options, 1)
    assert y.shape == own(x).shape and mx.allclose(y, own(x), rtol=1e-3, atol=1e-3)
    g = mx.random.normal(y.shape)
    dx = unfolded.input_gradient(g, w, x.shape[1:-1], *options, 1)
    assert (dx is None) == (stride == (1, 1) and (padding[0] > 2 or padding[1] > dilation[1]))
    if dx is not None:
        assert mx.allclose(dx, mx.vjp(own, [x], [g])[1][0], rtol=1e-3, atol=1e-3)


def test_a_strided_convolution_multiplies_by_no_zeros(monkeypatch: Any) -> None:
    """Its gradient, and a transposed one: MLX's own puts zeros between the elements first."""
    monkeypatch.setattr(runtime, "on_cpu", True)
    asked: list[Any] = []
    own = mx.conv_general

    def noted(*args: Any, **options: Any) -> Any:
        asked.append(options.get("input_dilation"))
        return own(*args, **options)

    monkeypatch.setattr(conv, "mx", SimpleNamespace(**{**vars(mx), "conv_general": noted}))
    x = torch.randn(2, 4, 9, 9, device="mlx", requires_grad=True)
    w = torch.randn(4, 4, 3, 3, device="mlx", requires_grad=True)
    F.conv2d(x, w, stride=2, padding=1).sum().backward()
    F.conv_transpose2d(x, w, stride=2, padding=1).sum().backward()
    assert not any(asked)
    F.conv_transpose2d(x, w[:, :2], stride=2, groups=2)
    assert asked[-1] == [2, 2], "that one is MLX's"


def test_convolutions_and_pools_of_every_kind() -> None:
    x, w = torch.randn(2, 20, 9, 8), torch.randn(18, 20, 3, 2) * 0.2
    for options in ({"padding": 1}, {"stride": (2, 1), "dilation": (1, 2)}, {"padding": (2, 2)}):
        same(lambda a, b, o=options: F.conv2d(a, b, **o), x, w)
    same(lambda a, b: F.conv1d(a, b, padding=1), x[..., 0], w[..., 0])
    for options in ({"stride": 2}, {"stride": (3, 1), "padding": 1, "output_padding": (1, 0)},
                    {"stride": (1, 4), "padding": 2, "output_padding": (0, 2), "dilation": 2}):  # fmt: skip
        same(lambda a, b, o=options: F.conv_transpose2d(a, b, **o), x, w.transpose(0, 1))
    distinct = torch.randperm(2 * 3 * 6 * 4).float().reshape(2, 3, 6, 4) / 50
    for pool in (
        lambda a: F.max_pool2d(a, 2),
        lambda a: F.max_pool2d(a, (3, 2)),
        lambda a: F.max_pool2d(a[1], (3, 2)),
        lambda a: F.max_pool2d(a, 3, 2, 1),
        lambda a: F.avg_pool2d(a[0], 3, 2, 1),
        lambda a: F.avg_pool2d(a, 3, 2, 1, count_include_pad=False),
    ):
        same(pool, distinct)


def test_the_second_factor_is_copied_where_that_is_faster(monkeypatch: Any) -> None:
    b = mx.transpose(mx.ones((4, 3)))
    monkeypatch.setattr(runtime, "on_cpu", True)
    assert matmul._second(b, 64) is not b and matmul._second(b, 2) is b
    monkeypatch.setattr(runtime, "on_cpu", False)
    assert matmul._second(b, 64) is b


def test_a_derivative_shares_the_work_of_its_function(monkeypatch: Any) -> None:
    graphs: list[Any] = []
    compile_graph = backend.compile_graph

    def recorded(gm: Any) -> Any:
        graphs.append(gm)
        return compile_graph(gm)

    monkeypatch.setattr(backend, "compile_graph", recorded)
    torch._dynamo.reset()
    x = torch.linspace(-3, 3, 40, device="mlx").requires_grad_()
    torch.compile(F.gelu, backend="mlx")(x).sum().backward()
    assert len(graphs) == 2
    erf = torch.ops.aten.erf.default
    assert sum(n.target is erf for g in graphs for n in g.graph.nodes) == 1
    y = x.detach().cpu().requires_grad_()
    F.gelu(y).sum().backward()
    assert x.grad is not None and y.grad is not None
    torch.testing.assert_close(x.grad.cpu(), y.grad)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize("kind", ["adamw", "adamw-amsgrad", "adam"])
def test_fused_adam_corrects_its_moments_for_each_parameter(
    compiles: bool, kind: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr(runtime, "compiles", compiles)
    ends = []
    for device in ("cpu", "mlx"):
        torch.manual_seed(0)
        params = [torch.randn(shape).to(device).requires_grad_() for shape in ((), (3,), (2, 4))]
        make = torch.optim.AdamW if kind.startswith("adamw") else torch.optim.Adam
        o = make(params, lr=0.1, weight_decay=0.2, amsgrad="amsgrad" in kind, fused=True)
        for step in range(5):
            for i, p in enumerate(
                params
            ):  # the second parameter has seen fewer steps than the others
                p.grad = None if i == 1 and step < 3 else (p.detach() * (step - 1) + i)
            if step == 2:
                o.param_groups[0]["lr"] = 0.03
            o.step()
        ends.append([p.detach().cpu() for p in params])
    for a, b in zip(*ends, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
