"""torch.cuda.comm and torch.cuda.nccl: collectives over a list of tensors."""

from __future__ import annotations

import pytest
import torch

from tdev_core.cuda import comm, nccl
from tdev_core.errors import DeviceWarning

pytestmark = pytest.mark.filterwarnings("ignore::tdev_core.errors.DeviceWarning")


def test_broadcast_gives_one_copy_for_each_device():
    x = torch.arange(3.0)
    copies = comm.broadcast(x, [0, 1, "cuda:1"])
    assert copies[0] is x and [c.tolist() for c in copies] == [[0, 1, 2]] * 3
    copies[1].zero_()
    assert x.tolist() == [0, 1, 2] and copies[2].tolist() == [0, 1, 2]
    outs = [torch.empty(3), torch.empty(3)]
    assert comm.broadcast(x, out=outs) == tuple(outs) and outs[1].tolist() == [0, 1, 2]
    for wrong in ({}, {"devices": [0], "out": outs}):
        with pytest.raises(RuntimeError, match="Exactly one"):
            comm.broadcast(x, **wrong)


def test_broadcast_coalesced():
    a, b = torch.ones(2), torch.zeros(3)
    rows = comm.broadcast_coalesced([a, b], [0, 1])
    assert [[t.tolist() for t in row] for row in rows] == [[[1, 1], [0, 0, 0]]] * 2
    with pytest.raises(RuntimeError, match="at least one device"):
        comm.broadcast_coalesced([a], [])


def test_scatter_and_gather_are_each_others_inverse():
    x = torch.arange(12.0).view(6, 2)
    pieces = comm.scatter(x, [0, 1])
    assert [p.shape[0] for p in pieces] == [3, 3]
    pieces[0].zero_()
    assert x[0, 1] == 1  # pieces are copies
    assert torch.equal(comm.gather(comm.scatter(x, [0, 1, 2], dim=1), dim=1), x)
    uneven = comm.scatter(x, [0, 1], chunk_sizes=[1, 5])
    assert [p.shape[0] for p in uneven] == [1, 5]
    assert torch.equal(comm.gather(uneven, destination=-1), x)
    assert torch.equal(comm.gather(uneven, destination="cuda:0"), x)
    outs = (torch.empty(2, 2), torch.empty(4, 2))
    comm.scatter(x, out=outs)
    whole = torch.empty(6, 2)
    assert comm.gather(outs, out=whole) is whole and torch.equal(whole, x)


WRONG = {
    "sizes that do not add up": (lambda x: comm.scatter(x, [0, 1], [1, 4]), "sum exactly to 6"),
    "sizes for others": (lambda x: comm.scatter(x, [0], [1, 5]), "devices and chunk_sizes to be of same length"),
    "to nobody": (lambda x: comm.scatter(x, []), "at least one device to scatter to"),
    "devices and out": (lambda x: comm.scatter(x, [0], out=[x]), "'devices' must not be specified"),
    "sizes and out": (lambda x: comm.scatter(x, None, [6], out=[x]), "'chunk_sizes' must not be specified"),
    "to no output": (lambda x: comm.scatter(x, out=[]), "at least one output tensor to scatter to"),
    "output of another shape": (lambda x: comm.scatter(x, out=[x.T]), "index 0 has incorrect shape: .2, 6."),
    "output of other dimensions": (lambda x: comm.scatter(x, dim=-1, out=[x[:, 0]]), "index 0 has incorrect shape"),
    "outputs too short": (lambda x: comm.scatter(x, dim=-1, out=[x[:, 1:]]), "Total size for output tensors along scatter dim 1 "),
    "gathered twice": (lambda x: comm.gather([x], destination=0, out=x), "'destination' must not be specified"),
    "gathered from none": (lambda x: comm.gather(()), "at least one tensor to gather from"),
    "gathered flat": (lambda x: comm.gather((x, x[0])), "index 1 has 1 dimensions"),
    "gathered narrow": (lambda x: comm.gather((x, x[:, 1:])), "Input tensor at index 1 has invalid shape"),
    "gathered elsewhere": (lambda x: comm.gather((x, x), out=x), "Expected out tensor to have shape .12, 2."),
    "broadcast to another shape": (lambda x: comm.broadcast(x, out=[x, x[None]]), "same shape as the source .+ at index 1"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "words"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_in_torchs_words(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(torch.arange(12.0).view(6, 2))


def test_reduce_add():
    parts = [torch.ones(2), torch.full((2,), 2.0), torch.full((2,), 3.0)]
    assert comm.reduce_add(parts).tolist() == [6, 6]
    assert parts[0].tolist() == [1, 1]
    assert [t.tolist() for t in comm.reduce_add_coalesced([parts[:2], parts[1:]], 0)] == [
        [3, 3],
        [5, 5],
    ]
    with pytest.raises(RuntimeError, match="at least one tensor"):
        comm.reduce_add([])
    with pytest.raises(ValueError, match="one shape"):
        comm.reduce_add([torch.ones(1), torch.ones(2)])


def test_an_index_that_is_not_there_warns():
    with pytest.warns(DeviceWarning, match="index 6"):
        comm.broadcast(torch.ones(1), [6])


@pytest.mark.parametrize(
    ("op", "result"),
    [
        (nccl.SUM, [5, 9]),
        (nccl.PROD, [4, 14]),
        (nccl.MAX, [4, 7]),
        (nccl.MIN, [1, 2]),
        (nccl.AVG, [2.5, 4.5]),
    ],
)
def test_nccl_all_reduce(op, result):
    values = [torch.tensor([1.0, 2.0]), torch.tensor([4.0, 7.0])]
    outs = [torch.empty(2), torch.empty(2)]
    nccl.all_reduce(values, outs, op)
    assert [o.tolist() for o in outs] == [result] * 2 and values[0].tolist() == [1, 2]
    nccl.all_reduce(values, op=op)
    assert [v.tolist() for v in values] == [result] * 2


def test_nccl_reduce_and_broadcast():
    values = [torch.ones(2), torch.full((2,), 2.0)]
    target = torch.empty(2)
    nccl.reduce(values, target)
    assert target.tolist() == [3, 3]
    nccl.reduce(values, root=1)
    assert values[1].tolist() == [3, 3] and values[0].tolist() == [1, 1]
    outs = [torch.zeros(2), torch.zeros(2)]
    nccl.reduce(values, root=0, outputs=outs)
    assert [o.tolist() for o in outs] == [[4, 4], [0, 0]]
    nccl.broadcast(values, root=1)
    assert values[0].tolist() == [3, 3]
    with pytest.raises(ValueError, match="can not be both"):
        nccl.reduce(values, target, outputs=outs)


def test_nccl_all_gather_and_reduce_scatter():
    values = [torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])]
    outs = [torch.empty(4), torch.empty(2, 2)]
    nccl.all_gather(values, outs)
    assert outs[0].tolist() == [1, 2, 3, 4] and outs[1].tolist() == [[1, 2], [3, 4]]
    parts = [torch.empty(1), torch.empty(1)]
    nccl.reduce_scatter(values, parts)
    assert [p.item() for p in parts] == [4, 6]
    with pytest.raises(RuntimeError, match="holds 3 elements, all inputs 4"):
        nccl.all_gather(values, [torch.empty(3)])
    with pytest.raises(RuntimeError, match="outputs hold 1 elements"):
        nccl.reduce_scatter(values, [torch.empty(1)])


def test_nccl_checks_its_arguments():
    for wrong in (torch.ones(2), [], [1], "text"):
        with pytest.raises(TypeError, match="collection of tensors"):
            nccl.all_reduce(wrong)
    with pytest.raises(RuntimeError, match="unknown NCCL operation 9"):
        nccl.all_reduce([torch.ones(1)], op=9)
    assert nccl.is_available([torch.ones(2)]) is True
    assert nccl.is_available([torch.ones(2).to_sparse()]) is False
    assert nccl.is_available([torch.ones(3, 2).t()]) is False


def test_the_functions_that_wrappers_take_from_torchs_private_module() -> None:
    from tdev.nn.parallel._functions import Broadcast, Gather, ReduceAddCoalesced, Scatter

    x = torch.arange(6.0).view(3, 2).requires_grad_()
    fixed = torch.ones(2)
    first, kept, second, _ = Broadcast.apply([0, "cuda:1"], x, fixed)
    assert torch.equal(second, x) and second.data_ptr() != x.data_ptr()
    assert second.requires_grad and not kept.requires_grad
    (first.sum() + 2 * second.sum()).backward()
    assert x.grad is not None and x.grad.unique().tolist() == [3.0]

    pieces = Scatter.apply([0, 1], [1, 2], 0, x)
    assert [len(piece) for piece in pieces] == [1, 2]
    assert torch.equal(Gather.apply("cpu", 0, *pieces), x)

    def there_and_back(value: torch.Tensor) -> torch.Tensor:
        doubled = ReduceAddCoalesced.apply(0, 1, *Broadcast.apply([0, 1], value))[0]
        return Gather.apply(0, 1, *Scatter.apply([0, 1], None, 1, doubled * doubled))

    wanted = x.detach().double().requires_grad_()
    assert torch.equal(there_and_back(wanted), 4 * wanted * wanted)
    assert torch.autograd.gradcheck(there_and_back, wanted)
    assert torch.autograd.gradgradcheck(there_and_back, wanted)


def test_gathered_scalars_become_a_vector() -> None:
    from tdev.nn.parallel._functions import Gather

    one, two = (torch.tensor(value, requires_grad=True) for value in (1.0, 2.0))
    with pytest.warns(UserWarning, match="only scalars"):
        vector = Gather.apply(0, 0, one, two)
    assert vector.tolist() == [1.0, 2.0]
    (vector * torch.tensor([3.0, 4.0])).sum().backward()
    assert (one.grad, two.grad) == (torch.tensor(3.0), torch.tensor(4.0))
