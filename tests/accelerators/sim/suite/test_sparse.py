"""Sparse tensors on ``sim``: every layout, the CPU's values, and what CUDA programs do with them."""

from __future__ import annotations

import copy
import gc
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from tests.accelerators.sim import bits

pytestmark = pytest.mark.filterwarnings("ignore")


def dense() -> torch.Tensor:
    torch.manual_seed(4)
    return torch.randn(4, 6) * (torch.rand(4, 6) > 0.5)


MAKE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "coo": lambda x: x.to_sparse(),
    "hybrid": lambda x: x.to_sparse(1),
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
    "bsr": lambda x: x.to_sparse_bsr((2, 3)),
    "bsc": lambda x: x.to_sparse_bsc((2, 3)),
}

# Each is called with a sparse tensor, then with the same on the device.
WORK: dict[str, Callable[[torch.Tensor], Any]] = {
    "to_dense": lambda s: s.to_dense(),
    "clone": lambda s: s.clone(),
    "double": lambda s: s.double(),
    "times": lambda s: s * 3,
    "transposed": lambda s: s.t() if s.layout is not torch.sparse_coo else s.transpose(0, 1),
    "zeroed": lambda s: s.clone().zero_(),
    "in_place": lambda s: s.clone().mul_(2),
    "sum": lambda s: s.sum(),
    "nnz": lambda s: s._nnz(),
    "product": lambda s: s @ torch.ones(6, 2, device=s.device),
    "addmm": lambda s: torch.addmm(
        torch.ones(4, 2, device=s.device), s, torch.ones(6, 2, device=s.device)
    ),
    "like": lambda s: torch.zeros_like(s),
    "negative": lambda s: s.neg().sin(),
    "deepcopy": lambda s: copy.deepcopy(s) if s.device.type == "sim" else s.clone(),
    "pickle": lambda s: pickle.loads(pickle.dumps(s)),
}


@pytest.mark.parametrize("device", ["sim:0", "sim:1"])
@pytest.mark.parametrize("work", WORK)
@pytest.mark.parametrize("layout", MAKE)
def test_the_cpus_answers(layout: str, work: str, device: str) -> None:
    here, there = MAKE[layout](dense()), MAKE[layout](dense().to(device))
    assert bits.difference(here, there) is None and there.device == torch.device(device)
    found = bits.compare(lambda: WORK[work](here), lambda: WORK[work](there), work)
    assert found is None, found
    try:
        result = WORK[work](there)
    except (RuntimeError, NotImplementedError):
        return  # as the CPU's, which was compared
    if isinstance(result, torch.Tensor):
        assert result.device == torch.device(device)
        if result.layout is torch.sparse_coo:
            parts = result._values(), result._indices()
            assert {part.device for part in parts} == {torch.device(device)}


@pytest.mark.parametrize("device", ["sim:0", "sim:1"])
@pytest.mark.parametrize("layout", MAKE)
def test_moves_and_files(layout: str, device: str) -> None:
    there = MAKE[layout](dense()).to(device)
    assert there.to(device) is there and torch.equal(there.cpu().to_dense(), dense())
    with pytest.raises(RuntimeError, match="same device"):
        there @ torch.ones(6, 2)
    file = io.BytesIO()
    torch.save(there, file)
    file.seek(0)
    assert torch.load(file, weights_only=True).device == there.device
    file.seek(0)
    assert torch.load(file, map_location="cpu").device.type == "cpu"


@pytest.mark.parametrize("layout", MAKE)
def test_the_second_device(layout: str) -> None:
    """A sparse tensor is where its components are, whatever device is current, and stays apart from the others."""
    there = MAKE[layout](dense()).to("sim:1")
    assert torch.sim.current_device() == 0  # type: ignore[attr-defined]
    assert there.device.index == 1 and there.values().device.index == 1
    if layout in ("coo", "csr", "csc"):  # of others the CPU has no product
        assert (there @ torch.ones(6, 2, device="sim:1")).device.index == 1
    with pytest.raises(RuntimeError, match="same device"):
        there @ torch.ones(6, 2, device="sim:0")
    back = there.to("sim:0")
    assert back.device.index == back.values().device.index == 0
    assert torch.equal(back.to_dense().cpu(), dense())


def test_gradients_of_the_second_device() -> None:
    table = nn.Embedding(9, 3, sparse=True, device="sim:1")
    table(torch.tensor([1, 4, 1], device="sim:1")).sum().backward()
    gradient = table.weight.grad
    assert gradient is not None and gradient.is_sparse and gradient.device.index == 1
    assert gradient.to_dense().sum(1).tolist() == [0, 6, 0, 0, 3, 0, 0, 0, 0]


@pytest.mark.parametrize("device", ["sim:0", "sim:1"])
def test_constructors(device: str) -> None:
    where = torch.device(device)
    indices, values = torch.tensor([[0, 0, 1], [2, 2, 0]]), torch.tensor([1.0, 2.0, 3.0])
    x = torch.sparse_coo_tensor(indices.to(device), values.to(device), (2, 3))
    assert x.device == where and x.is_sparse and not x.is_coalesced()
    assert x.to_dense().tolist() == [[0, 0, 3], [3, 0, 0]] and x.coalesce()._nnz() == 2
    y = torch.sparse_coo_tensor([[0], [1]], [5.0], (2, 3), device=device)
    assert (x + y).to_dense().tolist() == [[0, 5, 3], [3, 0, 0]]
    assert torch.sparse_coo_tensor((2, 3), device=device)._nnz() == 0
    z = torch.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], device=device)
    assert z.to_dense().tolist() == [[0, 1], [2, 0]] and z.crow_indices().device == where
    with pytest.raises(RuntimeError, match="size is inconsistent"):
        torch.sparse_coo_tensor(
            indices.to(device), values.to(device), (1, 1), check_invariants=True
        )


def test_values_are_shared_and_counted() -> None:
    gc.collect()
    before = torch.sim.memory_allocated()  # type: ignore[attr-defined]
    x = torch.eye(64, device="sim").to_sparse()
    x.values().mul_(5)
    assert x.to_dense().diagonal().tolist() == [5.0] * 64
    assert torch.sim.memory_allocated() - before == 64 * (8 + 8 + 4)  # type: ignore[attr-defined]
    x.add_(x)  # its components become others
    assert x.to_dense().diagonal().tolist() == [10.0] * 64
    del x
    gc.collect()
    assert torch.sim.memory_allocated() == before  # type: ignore[attr-defined]


def test_gradients() -> None:
    def gradients(device: str) -> Any:
        a = dense().to(device).to_sparse().requires_grad_()
        b = torch.ones(6, 3, device=device, requires_grad=True)
        torch.sparse.mm(a, b).sin().sum().backward()
        c = dense().to(device).requires_grad_()
        torch.sparse.softmax(c.to_sparse(), 1).to_dense().square().sum().backward()
        return a.grad, b.grad, c.grad

    assert bits.difference(gradients("cpu"), gradients("sim")) is None


@pytest.mark.parametrize("kind", ["SparseAdam", "SGD", "Adagrad"])
def test_embedding_with_sparse_gradients(kind: str) -> None:
    def trained(device: str) -> torch.Tensor:
        torch.manual_seed(0)
        table = nn.Embedding(8, 3, sparse=True).to(device)
        optimizer = getattr(torch.optim, kind)(table.parameters(), lr=0.1)
        for words in ([1, 2, 1], [0, 2, 7], [1, 1, 1]):
            optimizer.zero_grad()
            table(torch.tensor(words, device=device)).square().sum().backward()
            assert table.weight.grad is not None and table.weight.grad.is_sparse
            optimizer.step()
        return table.weight.detach()

    assert bits.difference(trained("cpu"), trained("sim")) is None


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_gradients_of_a_reduced_product(reduce: str) -> None:
    """For a maximum backward needs to know which element it was, which the kernel keeps only on demand."""
    found = []
    for device in ("cpu", "sim"):
        a = torch.tensor([[1.0, 0, 2], [0, 3, 0]]).to_sparse_csr().to(device).requires_grad_()
        b = torch.tensor([[1.0, -2], [3, 4], [-5, 6]]).to(device).requires_grad_()
        out = torch.sparse.mm(a, b, reduce)
        out.square().sum().backward()
        assert a.grad is not None and b.grad is not None
        found.append([x.cpu() for x in (out, a.grad.values(), b.grad)])
    assert all(map(torch.equal, *found))
