"""``torch.compile(backend="mlx")``: functions, shapes, mutations, random numbers and operators that MLX lacks."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tdev_core.accelerators.mlx.compiler import steps
from tests.accelerators.mlx.programs import run


def compiled(f: object, **options: object) -> object:
    torch._dynamo.reset()
    return torch.compile(f, backend="mlx", fullgraph=True, **options)  # type: ignore[call-overload]


def test_shapes_are_specialised_again() -> None:
    f = compiled(lambda x: (x.reshape(-1, x.shape[0]).softmax(-1) * x.shape[1]).sum(0))
    for rows in (2, 3, 5, 7):
        x = torch.randn(rows, 4)
        y = x.reshape(-1, rows).softmax(-1).mul(4).sum(0)
        torch.testing.assert_close(f(x.to("mlx")).cpu(), y)  # type: ignore[operator]


def test_inputs_are_mutated_and_views_stay_views() -> None:
    def f(x: Tensor) -> Tensor:
        x.add_(1)
        return x[1:].t()

    x = torch.arange(6.0, device="mlx").reshape(3, 2)
    y = compiled(f)(x)  # type: ignore[operator]
    assert x[0].tolist() == [1.0, 2.0] and y.tolist() == [[3.0, 5.0], [4.0, 6.0]]
    x.zero_()
    assert y.sum().item() == 0.0


def test_two_draws_in_a_graph_with_gradients_stay_two() -> None:
    """Equal expressions are shared between forward and backward; equal draws are not equal."""

    def f(x: Tensor) -> Tensor:
        first = torch.zeros_like(x).uniform_()
        second = torch.zeros_like(x).uniform_()
        return x * (first - second)

    x = torch.ones(64, device="mlx", requires_grad=True)
    y = compiled(f)(x)  # type: ignore[operator]
    y.sum().backward()
    assert (y.cpu() != 0).sum() > 50
    assert x.grad is not None
    torch.testing.assert_close(x.grad.cpu(), y.detach().cpu())


def test_backward_and_a_second_derivative_of_the_outside() -> None:
    def f(x: Tensor, w: Tensor) -> Tensor:
        return torch.nn.functional.gelu(x @ w).pow(2).sum()

    grads = []
    for g in (f, compiled(f)):
        x = torch.linspace(-1, 1, 12).reshape(3, 4).to("mlx").requires_grad_()
        w = torch.linspace(-2, 1, 8).reshape(4, 2).to("mlx").requires_grad_()
        g(x, w).backward()  # type: ignore[operator]
        assert x.grad is not None and w.grad is not None
        grads.append((x.grad.cpu(), w.grad.cpu()))
    for a, b in zip(*grads, strict=True):
        torch.testing.assert_close(a, b)


def test_random_operators_draw_anew_on_every_call() -> None:
    f = compiled(lambda x: torch.nn.functional.dropout(x, 0.5) * 2)
    x = torch.ones(1000, device="mlx")
    torch.manual_seed(0)
    a, b = f(x), f(x)  # type: ignore[operator]
    torch.manual_seed(0)
    c = f(x)  # type: ignore[operator]
    assert not torch.equal(a, b) and torch.equal(a, c)
    assert set(a.tolist()) == {0.0, 4.0} and 350 < (a == 0).sum().item() < 650


def test_a_checkpoint_drops_out_the_same_twice() -> None:
    def dropped(x: Tensor) -> Tensor:
        return torch.nn.functional.dropout(x.sin(), 0.5).square()

    x = torch.full((64,), 1.0, device="mlx", requires_grad=True)
    y = compiled(lambda x: checkpoint(dropped, x, use_reentrant=False))(x)  # type: ignore[operator]
    y.sum().backward()
    assert x.grad is not None and 10 < (y == 0).sum().item() < 54
    assert torch.equal(x.grad == 0, y == 0)


def test_an_operator_without_a_kernel_runs_between_the_parts(fallbacks: dict[str, int]) -> None:
    f = compiled(lambda x: torch.special.airy_ai(x * 2).exp())
    x = torch.rand(4)
    torch.testing.assert_close(f(x.to("mlx")).cpu(), torch.special.airy_ai(x * 2).exp())  # type: ignore[operator]
    assert "special_airy_ai.out" in fallbacks or "special_airy_ai.default" in fallbacks


def test_float64_stays_float64(fallbacks: dict[str, int]) -> None:
    f = compiled(lambda x: (x + 1e-12).sum())
    assert f(torch.ones(1, dtype=torch.float64, device="mlx")).item() == 1 + 1e-12  # type: ignore[operator]


def test_an_index_out_of_range_raises() -> None:
    f = compiled(lambda w, i: torch.nn.functional.embedding(i, w) * 2)
    w = torch.ones(4, 2, device="mlx")
    assert f(w, torch.tensor([3], device="mlx")).tolist() == [[2.0, 2.0]]  # type: ignore[operator]
    with pytest.raises(IndexError, match="out of range"):
        f(w, torch.tensor([4], device="mlx"))  # type: ignore[operator]


def test_constants_and_numbers() -> None:
    def f(x: Tensor, n: int) -> Tensor:
        return (
            torch.arange(n, device=x.device) * x.mean()
            + torch.tensor([1.0, 2.0], device=x.device).sum()
        )

    g = compiled(f)
    for n in (3, 4, 6):
        x = torch.rand(5)
        torch.testing.assert_close(g(x.to("mlx"), n).cpu(), f(x, n))  # type: ignore[operator]


def test_graph_breaks() -> None:
    def f(x: Tensor) -> Tensor:
        y = x * 2
        if y.sum().item() > 0:
            return y + 1
        return y - 1

    torch._dynamo.reset()
    g = torch.compile(f, backend="mlx")
    for sign in (1.0, -1.0):
        x = torch.full((3,), sign, device="mlx")
        assert g(x).tolist() == f(x).tolist()


def test_options_are_refused() -> None:
    torch._dynamo.reset()
    f = torch.compile(lambda x: x + 1, backend="mlx", options={"max_autotune": True})
    with pytest.raises(Exception, match="takes no options"):
        f(torch.ones(1, device="mlx"))


ACTIVATED = "import sys, tdev_core.accelerators.mlx as m; m.activate(); print('torch._dynamo' in sys.modules)\n"


def test_activation_does_not_import_dynamo() -> None:
    result = run(ACTIVATED)
    assert result.stdout == "False\n", result.stderr


@pytest.mark.deep  # its import takes ten seconds
def test_dynamo_finds_the_compiler_when_it_is_imported_later() -> None:
    result = run(
        ACTIVATED + "import torch\n"
        "print(torch.compile(lambda x: x + 1, backend='mlx')(torch.ones(2, device='mlx')).tolist())"
    )
    assert result.stdout.split() == ["False", "[2.0,", "2.0]"], result.stderr


def test_a_number_that_is_another_in_each_call_does_not_pile_up_compilations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steps, "COMPILATIONS", 3)
    parts: list[steps.Part] = []
    made = steps.Part.__init__
    monkeypatch.setattr(
        steps.Part, "__init__", lambda self, *given: parts.append(self) or made(self, *given)
    )
    rolled = torch.compile(lambda x, n: torch.roll(x, n), backend="mlx", dynamic=True)
    x = torch.arange(50.0)
    for n in (*range(2, 10), 2, 3):
        assert torch.equal(rolled(x.to("mlx"), n).cpu(), torch.roll(x, n))
    kept = [part._compiled.cache_info() for part in parts]
    assert max(info.misses for info in kept) > 3 >= max(info.currsize for info in kept)
