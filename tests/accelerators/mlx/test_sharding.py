"""Sharded tensors through the operators that the device keeps whole: a linear layer's backward, and attention."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional as F


@pytest.fixture(scope="module")
def mesh() -> Iterator[object]:
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.init_device_mesh("mlx", (1,))
    dist.destroy_process_group()


def _attend(causal: bool) -> Callable[..., Tensor]:
    def call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    return call


_CALLS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]], int]] = {
    "linear": (F.linear, [(4, 8), (3, 8), (3,)], 0),
    "linear, a sequence": (F.linear, [(2, 4, 8), (3, 8), (3,)], 0),
    "linear without bias": (F.linear, [(4, 8), (3, 8)], 0),
    "linear of one row": (F.linear, [(8,), (3, 8), (3,)], -1),
    "attention by heads": (_attend(False), [(1, 2, 4, 8)] * 3, 1),
    "causal attention by heads": (_attend(True), [(1, 2, 4, 8)] * 3, 1),
    "attention by batch": (_attend(False), [(2, 2, 4, 8)] * 3, 0),
}


@pytest.mark.parametrize("name", _CALLS)
def test_forward_and_backward_are_those_of_plain_tensors(name: str, mesh: object) -> None:
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    call, shapes, dim = _CALLS[name]
    torch.manual_seed(0)
    plain = [torch.randn(shape).to("mlx").requires_grad_() for shape in shapes]
    alike = [shape == shapes[0] for shape in shapes]
    sharded = [
        distribute_tensor(
            t.detach(),
            mesh,
            [Shard(dim) if same and dim >= 0 else Replicate()],  # type: ignore[arg-type]
        ).requires_grad_()
        for t, same in zip(plain, alike, strict=True)
    ]
    expected, found = call(*plain), call(*sharded)
    (expected * expected).sum().backward()
    (found * found).sum().backward()
    torch.testing.assert_close(found.full_tensor().cpu(), expected.cpu())  # type: ignore[attr-defined]
    for a, b in zip(sharded, plain, strict=True):
        assert a.grad is not None and b.grad is not None
        torch.testing.assert_close(a.grad.full_tensor().cpu(), b.grad.cpu())  # type: ignore[attr-defined]
