"""What each rank does in ``test_connected.py``: every collective, beside gloo's answer on CPU tensors.

``connected_worker.py FILE [DTYPE…]``: each rank writes what it found, as JSON, into FILE plus its rank.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from typing import Any

import mlx.core as mx
import tdev
import torch
import torch.distributed as dist

from tdev_core.errors import DeviceWarning
from tdev_core.release import torch_release

DTYPES = (
    torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.uint8,
    torch.complex64, torch.bool,
)  # fmt: skip
calls: Counter[str] = Counter()


def count(name: str) -> None:
    """Count the calls of one of MLX's functions, and make them."""
    function = getattr(mx.distributed, name)

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls[name] += 1
        return function(*args, **kwargs)

    setattr(mx.distributed, name, counting)


def values(dtype: torch.dtype, rank: int) -> torch.Tensor:
    made = torch.tensor([[1, 0, 5], [2, 0, 7]]) + 3 * rank
    if dtype.is_floating_point:
        made = made * torch.tensor([-0.0, 0.5, 1.0])
    return made.to(dtype)


def through(device: str, call: Any, dtype: torch.dtype) -> Any:
    """What one collective gives on ``device``, bit for bit, or that it refuses."""
    try:
        found = call(lambda: values(dtype, dist.get_rank()).to(device))
    except (RuntimeError, ValueError, TypeError):
        return "refused"
    parts = found if isinstance(found, list) else [found]
    assert all(part.device.type == device for part in parts)
    return [(str(part.dtype), part.shape, bits(part.cpu().contiguous())) for part in parts]


def bits(part: torch.Tensor) -> Any:
    data = part.view(torch.uint8)
    # gloo adds the bytes of bools: 2 is true too.
    return (data != 0).tolist() if part.dtype is torch.bool else data.tolist()


def reduced(operation: Any) -> Any:
    def call(make: Any) -> torch.Tensor:
        x = make()
        work = dist.all_reduce(x, operation, async_op=True)
        assert work is not None and work.wait()
        return x

    return call


def in_place_of_a_view(make: Any) -> Any:
    x = make()
    dist.all_reduce(x[1])
    return x


def coalesced(make: Any) -> Any:
    parts = [make(), make()[0]]
    dist.all_reduce_coalesced(parts)
    return parts


def broadcast(make: Any) -> Any:
    x = make()
    dist.broadcast(x, 1)
    return x


def gathered(make: Any) -> Any:
    parts = [torch.zeros_like(make()) for _ in range(2)]
    dist.all_gather(parts, make().clone())
    return parts


def gathered_into_one(make: Any) -> Any:
    out = torch.cat([make(), make()])
    dist.all_gather_into_tensor(out, make())
    return out


def scattered(make: Any) -> Any:
    out = make()[0]
    dist.reduce_scatter_tensor(out, make())
    return out


def everywhere_else(make: Any) -> Any:
    """What MLX has nothing for; both ranks at once."""
    x, y, other = make(), make(), 1 - dist.get_rank()
    for work in dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, x, other), dist.P2POp(dist.irecv, y, other)]
    ):
        work.wait()
    return y


CASES: dict[str, Any] = {
    **{name: reduced(getattr(dist.ReduceOp, name)) for name in ("SUM", "AVG", "MAX", "MIN", "PRODUCT", "BAND")},
    **{
        call.__name__: call
        for call in (
            in_place_of_a_view, coalesced, broadcast, gathered, gathered_into_one, scattered, everywhere_else,
        )
    },
}  # fmt: skip


def collectives(dtypes: list[str]) -> dict[str, Any]:
    """By case and dtype: what the device gave, what gloo gave, and which of MLX's functions ran."""
    found = {}
    for name, call in CASES.items():
        for dtype in [getattr(torch, dtype) for dtype in dtypes] or DTYPES:
            calls.clear()
            device = through("mlx", call, dtype)
            carried = dict(calls)
            found[f"{name} {dtype}"] = {
                "mlx": device,
                "gloo": through("cpu", call, dtype),
                "carried": carried,
            }
    return found


def trained(device: str) -> list[float]:
    torch.manual_seed(3)
    data = torch.randn(4, 5, generator=torch.Generator().manual_seed(dist.get_rank())).to(device)
    network = torch.nn.parallel.DistributedDataParallel(
        torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).to(
            device
        )
    )
    optimizer = torch.optim.SGD(network.parameters(), 0.1)
    for _ in range(3):
        network(data).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return torch.cat([p.detach().cpu().flatten() for p in network.parameters()]).tolist()


def subgroup() -> list[float] | None:
    """In the other order than MLX has the ranks: gloo's. None where torch sorts them always."""
    if torch_release < (2, 12):
        return None
    group = tdev.distributed.new_group([1, 0], sort_ranks=False)
    x = torch.tensor([1.0 + dist.get_rank()], device="mlx")
    dist.all_reduce(x, group=group)
    return [*x.tolist(), float(sum(calls.values()))]


def main(file: str, *dtypes: str) -> None:
    for name in ("all_sum", "all_max", "all_min", "all_gather", "send", "recv"):
        count(name)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", DeviceWarning)
        tdev.distributed.init_process_group("nccl")
    rank = dist.get_rank()
    calls.clear()
    found: dict[str, Any] = {
        "rank": rank,
        "told": [str(w.message) for w in told if w.category is DeviceWarning],
        "collectives": collectives(list(dtypes)),
    }
    calls.clear()
    found["trained"] = trained("mlx")
    found["carried"] = dict(calls)
    found["gloo"] = trained("cpu")
    calls.clear()
    found["subgroup"] = subgroup()
    dist.destroy_process_group()
    with open(f"{file}{rank}", "w", encoding="utf-8") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    main(*sys.argv[1:])
