"""The stand-in for apex.parallel: two ranks compute what one does with the whole batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from tdev_core.errors import UnsupportedError
from tdev_core.packages.apex import parallel
from tdev_core.packages.apex.parallel.LARC import LARC
from tests import forkserver

RANK = """\
import json, sys, torch
import torch.distributed as dist
from apex.parallel import DistributedDataParallel, Reducer, SyncBatchNorm, convert_syncbn_model, create_syncbn_process_group

dist.init_process_group("nccl")
rank = dist.get_rank()
whole = torch.randn(7, 3, 2, dtype=torch.float32, generator=torch.Generator().manual_seed(0))
own = (whole[:4] if rank == 0 else whole[4:]).cuda()
found = {}
for last in (False, True):
    norm = SyncBatchNorm(3, channel_last=last, process_group=create_syncbn_process_group(2), fuse_relu=last).cuda()
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([1.0, 2.0, -1.0]))
    x = (own.movedim(1, -1) if last else own).clone().detach().requires_grad_()
    out = norm(x)
    (out ** 3).sum().backward()
    order = (lambda t: t.movedim(-1, 1)) if last else (lambda t: t)
    found[str(last)] = [order(out).tolist(), order(x.grad).tolist(), norm.running_mean.tolist(), norm.running_var.tolist(),
                        norm.weight.grad.tolist()]
norm.eval()
found["eval"] = norm(own.movedim(1, -1)).shape[-1]
torch.manual_seed(rank)
net = convert_syncbn_model(torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))).cuda()
found["kinds"] = type(net[1]).__name__
for average in (True, False):
    ddp = DistributedDataParallel(torch.nn.Linear(3, 1).cuda(), message_size=1, gradient_average=average)
    ddp.zero_grad()
    (ddp(own[:, :, 0]).sum() * (rank + 1)).backward()
    found[f"mean {average}"] = [ddp.module.weight.grad.tolist(), ddp.module.weight.tolist()]
layer = torch.nn.Linear(3, 1).cuda()
reducer = Reducer(layer)
layer(own[:, :, 0]).sum().backward()
reducer.reduce()
found["reducer"] = [layer.weight.grad.tolist(), layer.weight.tolist()]
print(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.mark.parametrize("backend", ["cpu", "sim"])
def test_two_ranks_are_one(tmp_path: Path, backend: str) -> None:
    script = tmp_path / "rank.py"
    script.write_text(RANK)
    env = forkserver.environment(
        TDEV_BACKEND=backend, TDEV_SIM_DEVICES="2", TDEV_CACHE_DIR=str(tmp_path / "cache")
    )
    done = forkserver.ranks("-m", "tdev", "run", str(script), env=env)
    assert all(one.returncode == 0 for one in done), done[0].stderr + done[1].stderr
    both = [json.loads(one.stdout) for one in done]
    whole = torch.randn(7, 3, 2, generator=torch.Generator().manual_seed(0))
    for last in (False, True):
        norm = torch.nn.BatchNorm1d(3)
        with torch.no_grad():
            norm.weight.copy_(torch.tensor([1.0, 2.0, -1.0]))
        x = whole.clone().requires_grad_()
        out = torch.relu(norm(x)) if last else norm(x)
        (out**3).sum().backward()
        parts = [one[str(last)] for one in both]
        assert x.grad is not None and norm.running_mean is not None and norm.running_var is not None
        for place, meant in ((0, out), (1, x.grad)):
            torch.testing.assert_close(
                torch.tensor(parts[0][place] + parts[1][place]), meant, atol=1e-4, rtol=1e-4
            )
        for part in parts:
            torch.testing.assert_close(torch.tensor(part[2]), norm.running_mean)
            torch.testing.assert_close(torch.tensor(part[3]), norm.running_var)
        torch.testing.assert_close(
            torch.tensor(parts[0][4]) + torch.tensor(parts[1][4]),
            norm.weight.grad,
            atol=1e-4,
            rtol=1e-4,
        )
    assert [one["kinds"] for one in both] == ["SyncBatchNorm"] * 2 and both[0]["eval"] == 3
    sums = whole[:4, :, 0].sum(0) + 2 * whole[4:, :, 0].sum(0)
    for average, share in ((True, 0.5), (False, 1.0)):
        for one in both:
            torch.testing.assert_close(torch.tensor(one[f"mean {average}"][0])[0], sums * share)
        assert both[0][f"mean {average}"][1] == both[1][f"mean {average}"][1]
    for one in both:
        torch.testing.assert_close(torch.tensor(one["reducer"][0])[0], whole[:, :, 0].sum(0) / 2)
    assert both[0]["reducer"][1] == both[1]["reducer"][1]


def test_alone_it_is_torchs_batch_norm() -> None:
    x = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(5), torch.nn.InstanceNorm1d(5))
    theirs = torch.nn.BatchNorm1d(5)
    ours = parallel.convert_syncbn_model(net)
    assert type(ours[0]) is parallel.SyncBatchNorm and type(ours[1]) is torch.nn.InstanceNorm1d
    torch.testing.assert_close(ours[0](x), theirs(x))
    torch.testing.assert_close(ours[0].state_dict(), theirs.state_dict())
    added = parallel.SyncBatchNorm(5, fuse_relu=True)
    torch.testing.assert_close(added(x, x), torch.relu(torch.nn.BatchNorm1d(5)(x) + x))
    with pytest.raises(ValueError, match=r"shape \(3,\); \(N, C, …\) is needed"):
        added(torch.ones(3))


@pytest.mark.parametrize("clip", [True, False])
def test_larc(clip: bool) -> None:
    torch.manual_seed(0)
    value = torch.randn(3, 4, dtype=torch.float64)
    weight = value.clone().requires_grad_()
    optimizer: Any = LARC(
        torch.optim.SGD([weight], lr=0.1, weight_decay=0.01), trust_coefficient=0.05, clip=clip
    )
    for _ in range(3):
        optimizer.zero_grad()
        (weight**2).sum().backward()
        optimizer.step()
        gradient = 2 * value
        own = 0.05 * value.norm() / (gradient.norm() + 0.01 * value.norm() + 1e-8)
        own = min(own / 0.1, torch.tensor(1.0)) if clip else own
        value = value - 0.1 * own * (gradient + 0.01 * value)
    torch.testing.assert_close(weight.detach(), value)
    assert optimizer.param_groups[0]["weight_decay"] == 0.01


def test_larc_steps_nowhere_at_a_rate_of_zero() -> None:
    """As a schedule that warms up begins."""
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer: Any = LARC(torch.optim.SGD([weight], lr=0.0))
    (weight**2).sum().backward()
    optimizer.step()
    assert torch.equal(weight.detach(), torch.ones(3))


def test_what_cannot_be() -> None:
    layer = torch.nn.Linear(1, 1)
    with pytest.raises(ValueError, match="shared_param is gone"):
        parallel.DistributedDataParallel(layer, shared_param=True)
    with pytest.raises(UnsupportedError, match="retain_allreduce_buffers"):
        parallel.DistributedDataParallel(layer, retain_allreduce_buffers=True)
    assert parallel.create_syncbn_process_group(0) is None
    with pytest.raises(AttributeError, match="apex.parallel.multiproc is not in"):
        _ = parallel.multiproc
