"""Who looks at the operators of a ``sim`` program: modes, ``torch.func``, ``torch.compile``."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import tdev
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from tdev_core import errors


def test_modes_do_not_see_our_own_calls() -> None:
    from torch.overrides import TorchFunctionMode

    class Counting(TorchFunctionMode):
        calls = 0

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            Counting.calls += 1
            return func(*args, **(kwargs or {}))

    x = torch.ones(2, device="sim")
    with Counting():
        torch.add(x, x)
    assert Counting.calls == 1


def test_functional_transforms() -> None:
    w, xs = torch.randn(4, device="sim"), torch.randn(5, 4, device="sim")

    def f(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return (w * x).sum().sin()

    def per_sample(w: torch.Tensor, xs: torch.Tensor) -> torch.Tensor:
        return torch.func.vmap(torch.func.grad(f), (None, 0))(w, xs)

    assert torch.equal(per_sample(w, xs).cpu(), per_sample(w.cpu(), xs.cpu()))
    q = torch.randn(1, 2, 8, 4, device="sim")

    def attend(q: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, q, q).square().sum()

    torch.testing.assert_close(torch.func.grad(attend)(q).cpu(), torch.func.grad(attend)(q.cpu()))
    assert (
        torch.func.vmap(lambda q: F.scaled_dot_product_attention(q, q, q))(q[None]).device
        == q.device
    )


def test_compile_with_aot_autograd() -> None:
    compiled = torch.compile(lambda x: (x * 2).sin() + x, backend="aot_eager", fullgraph=True)
    x = torch.randn(3, device="sim", requires_grad=True)
    compiled(x).sum().backward()
    assert x.grad is not None and torch.equal(x.grad, 2 * (x * 2).cos() + 1)


class Net(nn.Module):
    """Layers whose operators ``sim`` runs as one on the CPU, and others."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(F.gelu(self.first(x))).view(1, 2, -1, 8)
        y = F.scaled_dot_product_attention(y, y, y).reshape(-1, 16)
        result: torch.Tensor = self.last(F.dropout(y, 0.25))
        return result


@pytest.mark.parametrize("backend", ["aot_eager", "inductor", "eager"])
@pytest.mark.filterwarnings("ignore")
def test_compiled_training_is_the_eager_one(backend: str) -> None:
    torch._dynamo.reset()
    torch.manual_seed(0)
    net, x = Net().to("sim"), torch.randn(4, 8, device="sim")
    compiled = torch.compile(net, backend=backend, fullgraph=True)
    gradients = []
    for run in (net, compiled):
        torch.manual_seed(1)
        loss = run(x).square().sum()
        net.zero_grad()
        loss.backward()
        gradients.append([loss.detach(), *(p.grad for p in net.parameters())])
    for eager, other in zip(*gradients, strict=True):
        assert other.device == x.device
        torch.testing.assert_close(other, eager)


@pytest.mark.parametrize("index", [0, 1])
def test_a_compiled_checkpoint_drops_out_the_same_twice(index: int) -> None:
    """The backward graph draws again, from the state that the forward graph's draw started from."""
    torch._dynamo.reset()

    def dropped(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x.sin(), 0.5).square()

    def step(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(dropped, x, use_reentrant=False)

    x = torch.full((64,), 1.0, device=f"sim:{index}", requires_grad=True)
    y = torch.compile(step, backend="aot_eager", fullgraph=True)(x)
    torch.rand(5, device=x.device)  # the generator has moved on when backward begins
    before = torch.sim.get_rng_state(index)  # type: ignore[attr-defined]
    y.sum().backward()
    assert torch.equal(before, torch.sim.get_rng_state(index))  # type: ignore[attr-defined]
    assert x.grad is not None and 10 < (y == 0).sum().item() < 54
    assert torch.equal(x.grad == 0, y == 0)


def test_inductor_gives_way_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the graph has no inputs."""
    torch._dynamo.reset()
    monkeypatch.setattr(errors, "_warned", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = torch.compile(lambda: torch.zeros(3, device="sim") + 1)()
        again = torch.compile(lambda x: x.sin() + 1)(made)
    ours = [str(w.message) for w in caught if "TorchInductor" in str(w.message)]
    assert len(ours) == 1 and "'aot_eager' compiles instead" in ours[0]
    assert made.tolist() == [1.0, 1.0, 1.0] and again.device == torch.device("sim:0")


def test_another_current_device_is_compiled_for(shims: None) -> None:
    torch._dynamo.reset()
    compiled = []

    def counting(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        compiled.append(graph)
        return graph.forward

    @torch.compile(backend=counting)
    def made(x: torch.Tensor) -> tuple[int, int]:
        moved = x.to(tdev.device("cuda"))
        return moved.device.index, tdev.zeros(2, device="cuda").device.index

    for index in (0, 1, 0, 1):
        with tdev.cuda.device(index):
            assert made(torch.ones(2)) == (index, index)
    assert len(compiled) == 2


def test_graphs_without_the_device_stay_inductors() -> None:
    from tdev_core.accelerators.privateuse.compiling import _touches

    def graph(x: torch.Tensor) -> torch.fx.GraphModule:
        return torch.fx.symbolic_trace(lambda x: x + 1)

    here, there = torch.ones(2), torch.ones(2, device="sim")
    assert not _touches(graph(here), [here], "sim") and _touches(graph(there), [there], "sim")
    made = torch.fx.symbolic_trace(lambda: torch.ones(2, device=torch.device("sim")))
    assert _touches(made, [], "sim") and not _touches(made, [], "mlx")
