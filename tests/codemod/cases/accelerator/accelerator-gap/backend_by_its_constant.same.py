import os
import torch


def barrier():
    if torch.distributed.get_backend() == torch.distributed.Backend.NCCL:
        torch.distributed.barrier(device_ids=[torch.cuda.current_device()])
    else:
        torch.distributed.barrier()


def init(local_rank, backend):
    if local_rank + 1 > torch.cuda.device_count():
        raise ValueError("Killing process " + str() + "\n")
    if backend == "nccl":
        if not torch.distributed.is_nccl_available():
            raise ValueError("no")
    elif backend == "gloo":
        pass
