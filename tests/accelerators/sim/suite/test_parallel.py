"""Two devices in one process, through the mirror: ``DataParallel``, ``torch.cuda.comm``, copies between them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import tdev
import torch
from tdev import nn

pytestmark = pytest.mark.usefixtures("shims")

ZERO, ONE = torch.device("sim:0"), torch.device("sim:1")


class Net(nn.Module):
    """Records where it ran, and makes a tensor on whatever device is current."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2)
        self.seen: list[Any] = []

    def forward(self, x: torch.Tensor, scale: float = 1.0) -> dict[str, torch.Tensor]:
        self.seen.append((x.device, self.first.weight.device, self.norm.running_mean.device))
        offset = tdev.zeros(2, device="cuda")  # type: ignore[attr-defined]
        y = self.last(self.norm(self.first(x))).relu() * scale + offset
        return {"y": y, "rows": torch.tensor(float(len(x)), device=x.device)}


def test_data_parallel_runs_a_replica_on_each_device() -> None:
    net = Net().cuda()
    parallel = nn.DataParallel(net)
    assert parallel.device_ids == [0, 1] and parallel.output_device == 0
    out = parallel(torch.randn(6, 4), scale=2.0)
    assert net.seen == [(ZERO, ZERO, ZERO), (ONE, ONE, ONE)]
    assert out["y"].shape == (6, 2) and out["y"].device == ZERO
    assert out["rows"].tolist() == [3.0, 3.0]
    assert nn.DataParallel(net, [0, 1], output_device=1)(torch.randn(4, 4))["y"].device == ONE
    assert nn.DataParallel(net.eval())(torch.randn(1, 4))["rows"].tolist() == [1.0]  # fewer rows


def test_data_parallel_trains_as_one_device_does() -> None:
    torch.manual_seed(3)
    alone = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).cuda()
    shared = copy.deepcopy(alone)
    parallel = nn.DataParallel(shared)
    x = torch.randn(6, 4).cuda()
    for network in (alone, parallel):
        optimizer = torch.optim.SGD(network.parameters(), 0.1)
        for _ in range(3):
            optimizer.zero_grad()
            network(x).square().mean().backward()
            optimizer.step()
    for mine, theirs in zip(shared.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs)
        assert mine.grad is not None and mine.grad.device == ZERO
    assert list(parallel.state_dict())[0] == "module.0.weight"


def test_the_module_must_be_on_the_first_device() -> None:
    net = nn.Linear(4, 2).to("cuda:1")
    for call in (
        lambda x: nn.DataParallel(net, [0, 1])(x),
        lambda x: tdev.nn.parallel.data_parallel(net, x, [0, 1]),
    ):
        with pytest.raises(RuntimeError, match=r"must have its parameters .* sim:0 .* sim:1"):
            call(torch.randn(4, 4))
    assert nn.DataParallel(net, [1])(torch.randn(4, 4)).device == ONE


def test_data_parallel_by_its_functions() -> None:
    net, x = nn.Linear(4, 2).cuda(), torch.randn(5, 4)
    found = tdev.nn.parallel.data_parallel(net, x, [0, 1])
    assert found.device == ZERO
    torch.testing.assert_close(found, net(x.cuda()))
    replicas = tdev.nn.parallel.replicate(net, [0, 1])
    assert [r.weight.device for r in replicas] == [ZERO, ONE]
    assert replicas[0].weight.data_ptr() == net.weight.data_ptr()
    outputs = tdev.nn.parallel.parallel_apply(replicas, tdev.nn.parallel.scatter((x,), [0, 1]))
    tdev.nn.parallel.gather(outputs, 1).sum().backward()
    assert net.bias.grad is not None and net.bias.grad.tolist() == [5.0, 5.0]


def test_comm() -> None:
    from tdev.cuda import comm

    x = torch.randn(6, 4, device="sim:0")
    parts = comm.scatter(x, [0, 1], chunk_sizes=[4, 2])
    assert [(p.device, len(p)) for p in parts] == [(ZERO, 4), (ONE, 2)]
    assert torch.equal(comm.gather(parts, destination=1), x.to(ONE))
    assert comm.gather(parts, destination=-1).device.type == "cpu"
    copies = comm.broadcast(x, [0, 1])
    assert copies[0] is x and copies[1].device == ONE
    assert torch.equal(comm.reduce_add(copies, 1), 2 * x.to(ONE))
    rows = comm.broadcast_coalesced([x, x.t()], [0, 1])
    assert [[t.device for t in row] for row in rows] == [[ZERO, ZERO], [ONE, ONE]]
    total, _ = comm.reduce_add_coalesced(rows, 0)
    assert total.device == ZERO and torch.equal(total, 2 * x)


def test_copies_between_devices() -> None:
    assert tdev.cuda.can_device_access_peer(0, 1) and not tdev.cuda.can_device_access_peer(1, 1)
    x = torch.randn(6, 4, device="sim:0", requires_grad=True)
    y = torch.zeros(4, 6, device="sim:1")
    y.copy_(x.detach().t(), non_blocking=True)
    assert torch.equal(y.cpu(), x.detach().cpu().t())
    y[1:3, ::2].copy_(x.detach()[::3, :3])
    assert torch.equal(y[1:3, ::2].cpu(), x.detach()[::3, :3].cpu())
    (x.to("cuda:1")[::2].conj() * 3).sum().backward()
    assert x.grad is not None and x.grad.device == ZERO and x.grad[1].tolist() == [0.0] * 4
    with pytest.raises(RuntimeError, match="two devices, sim:0 and sim:1"):
        torch.add(x, x.to("cuda:1"))


def test_the_private_functions_copy_between_devices() -> None:
    from tdev.nn.parallel._functions import Broadcast, Gather, Scatter

    x = torch.ones(2, 2, device=ONE, requires_grad=True)
    copies = Broadcast.apply([0, 1], x)
    assert [copy.device for copy in copies] == [ZERO, ONE]
    whole = Gather.apply("cuda:0", 0, *copies)
    assert whole.device == ZERO
    whole.sum().backward()
    assert x.grad is not None and x.grad.device == ONE and x.grad.tolist() == [[2, 2], [2, 2]]
    host = torch.ones(4, requires_grad=True)
    pieces = Scatter.apply([0, 1], None, 0, host)
    assert [piece.device for piece in pieces] == [ZERO, ONE]
    (pieces[0].sum() + pieces[1].sum().to(ZERO)).backward()
    assert host.grad is not None and host.grad.device.type == "cpu"
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        Broadcast.apply([0, 1], host)
    with pytest.raises(AssertionError, match="not implemented for CPU tensors"):
        Gather.apply(0, 0, host, host)
