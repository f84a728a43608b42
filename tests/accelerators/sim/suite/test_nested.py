"""Nested tensors of torch's default layout on ``sim``: the CPU's values, views and gradients."""

from __future__ import annotations

import gc
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

pytestmark = pytest.mark.filterwarnings("ignore")

sim: Any = torch.sim  # type: ignore[attr-defined]
make: Any = torch.nested.nested_tensor


def parts() -> list[torch.Tensor]:
    torch.manual_seed(3)
    return [torch.randn(2, 3), torch.randn(4, 3)]


def plain(value: Any) -> Any:
    """What can be compared: the parts of nested tensors, on the CPU."""
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    if value.is_nested:
        return [part.detach().cpu().tolist() for part in value.unbind()]
    return value.detach().cpu().tolist()


WORK: dict[str, Callable[[torch.Tensor], Any]] = {
    "itself": lambda n: n,
    "padded": lambda n: torch.nested.to_padded_tensor(n, -1.0),
    "parts": lambda n: n.unbind(),
    "part": lambda n: n[1],
    "values": lambda n: n.values(),
    "sum": lambda n: n + n,
    "times": lambda n: n * 3,
    "scaled": lambda n: n * torch.tensor(2.0, device=n.device),
    "in_place": lambda n: n.clone().mul_(2).add_(n),
    "filled": lambda n: torch.empty_like(n).fill_(2),
    "relu": lambda n: n.relu(),
    "gelu": lambda n: functional.gelu(n),
    "softmax": lambda n: n.softmax(-1),
    "norm": lambda n: nn.LayerNorm(3).to(n.device)(n),
    "linear": lambda n: functional.linear(n, torch.ones(5, 3, device=n.device)),
    "product": lambda n: n @ n.transpose(1, 2),
    "chunks": lambda n: n.chunk(3, -1),
    "reduced": lambda n: n.sum(-1, keepdim=True),
    "double": lambda n: n.double().relu(),
    "sizes": lambda n: [n.size(0), n.size(2), n.dim(), n.numel(), n.is_contiguous()],
    "copied": lambda n: torch.zeros_like(n).copy_(n.cpu()),
    "pickled": lambda n: pickle.loads(pickle.dumps(n)),
}


@pytest.mark.parametrize("work", WORK)
def test_the_cpus_answers(work: str) -> None:
    here, there = make(parts()), make(parts(), device="sim")
    found = WORK[work](there)
    assert plain(WORK[work](here)) == plain(found)
    for value in found if isinstance(found, (list, tuple)) else [found]:
        assert not isinstance(value, torch.Tensor) or value.device == torch.device("sim", 0)


def test_made_and_moved() -> None:
    moved = make(parts()).to("sim:1")
    assert moved.is_nested and moved.device.index == 1 == (moved * 2).device.index
    assert moved.to("sim:1") is moved and moved.to("sim:0").device.index == 0
    assert torch.nested.as_nested_tensor([part.to("sim:1") for part in parts()]).device.index == 1
    assert "device='sim:1'" in repr(moved) and plain(moved) == plain(make(parts()))
    for other in (make(parts()), make(parts(), device="sim:0")):
        with pytest.raises(RuntimeError, match="same device"):
            moved + other


def test_the_parts_are_views_of_counted_memory() -> None:
    gc.collect()
    before = sim.memory_allocated()
    there = make(parts(), device="sim")
    assert sim.memory_allocated() - before == 18 * 4
    first = there.unbind()[0]
    first.fill_(7)
    assert plain(there)[0] == [[7.0] * 3] * 2 and first._is_view()
    assert sim.memory_allocated() - before == 18 * 4
    del there, first
    gc.collect()
    assert sim.memory_allocated() == before


def test_files() -> None:
    file = io.BytesIO()
    torch.save(make(parts(), device="sim"), file)
    for where, device in ((None, "sim"), ("cpu", "cpu")):
        file.seek(0)
        # From 2.15 on torch does not let a file have it made unless the program says so.
        with torch.serialization.safe_globals([torch._utils._rebuild_nested_tensor]):
            loaded = torch.load(file, map_location=where, weights_only=True)
        assert loaded.device.type == device and plain(loaded) == plain(make(parts()))


def test_gradients() -> None:
    def gradients(device: str) -> list[Any]:
        leaves = [part.to(device).requires_grad_() for part in parts()]
        weight = torch.linspace(-1, 1, 15).reshape(5, 3).to(device).requires_grad_()
        n = torch.nested.as_nested_tensor(leaves)
        y = functional.linear(n, weight).relu().softmax(-1)
        y = torch.nested.to_padded_tensor(y @ y.transpose(1, 2), 0.0)
        (y.square().sum() + sum(part.sin().sum() for part in n.unbind())).backward()
        leaf = make(parts(), device=device, requires_grad=True)
        torch.nested.to_padded_tensor(leaf * 3, 0.0).sum().backward()
        return plain([leaf.grad, weight.grad, *(part.grad for part in leaves)])  # type: ignore[no-any-return]

    assert gradients("cpu") == gradients("sim")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_an_encoder_skips_the_padding(mode: Callable[[], Any]) -> None:
    """In evaluation torch packs what is not padded into a nested tensor, on every accelerator."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(3, 5, 16), torch.tensor([5, 3, 1])[:, None] <= torch.arange(5)
    with mode():
        here = model(x, src_key_padding_mask=padding)
        there = model.to("sim")(x.to("sim"), src_key_padding_mask=padding.to("sim"))
    assert torch.equal(here, there.cpu()) and here.count_nonzero() == 9 * 16


def test_one_tensor_in_three_places_is_one() -> None:
    """torch projects query, key and value at once where they are the same tensor."""
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(6, 2, batch_first=True).eval()
    with torch.no_grad():
        found = []
        for device in ("cpu", "sim"):
            n = make([torch.linspace(-1, 1, 6 * k).reshape(k, 6) for k in (2, 4)], device=device)
            found.append(plain(attention.to(device)(n, n, n, need_weights=False)[0]))
    assert found[0] == found[1]


def test_a_device_that_is_not_named_is_that_of_the_parts() -> None:
    """torch hands over the dtype and the layout by position, and then no device."""
    part = torch.ones(2, device="sim:0")
    made = torch._nested_tensor_from_tensor_list([part, part], torch.float64, torch.strided)
    assert made.is_nested and made.device == part.device and made.dtype == torch.float64
