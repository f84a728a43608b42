import torch


def initialize(args, rank, backend="nccl"):
    torch.cuda.set_device(rank % torch.cuda.device_count())
    torch.distributed.init_process_group(backend=backend)
