"""What each of two ranks does in test_nccl_semantics.py: what programs rely on that were written for NCCL."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import Any

import tdev as torch
from tdev import distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()
device = torch.device("cuda", 0)


def numbers(count: int = 2) -> Any:
    return torch.arange(count, dtype=torch.float32, device=device) + 10 * rank


joined = [numbers(), numbers(3)]
with dist._coalescing_manager(device=device):
    for tensor in joined:
        dist.all_reduce(tensor)
assert [t.tolist() for t in joined] == [[10.0, 12.0], [10.0, 12.0, 14.0]], joined

gathered = [numbers(4), numbers(4)]
with dist._coalescing_manager(device=device, async_ops=True) as works:
    for tensor in gathered:
        dist.all_gather_into_tensor(tensor, tensor[:2] + rank)
works.wait()
assert [t.tolist() for t in gathered] == [[0.0, 1.0, 11.0, 12.0]] * 2, gathered

received = torch.zeros(2, device=device)
with dist._coalescing_manager(device=device, async_ops=True) as works:
    dist.isend(numbers(), 1 - rank)
    dist.irecv(received, 1 - rank)
works.wait()
assert received.tolist() == [10.0 * (1 - rank), 10.0 * (1 - rank) + 1], received

again = numbers()
dist.all_reduce(again)  # nothing is queued any more
assert again.tolist() == [10.0, 12.0], again

dist.barrier(device_ids=[0])

if device.type == "sim":  # elsewhere torch's own kernels answer
    soon = dist.new_group([0, 1], timeout=timedelta(seconds=1))
    if rank == 0:
        try:
            dist.all_reduce(numbers(), group=soon)
        except dist.DistBackendError as error:
            assert "Timed out" in str(error), error
        else:
            raise AssertionError("rank 1 never came")
    else:
        time.sleep(2)
dist.destroy_process_group()
sys.exit(0)
