import time
import tdev as torch
import tdev.distributed as dist


def report():
    print(time.time(), torch.cuda.memory_allocated())
    dist.init_process_group("nccl")
