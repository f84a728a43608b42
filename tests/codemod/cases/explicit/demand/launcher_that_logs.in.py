import torch
import torch.distributed as dist
from loguru import logger


def worker(local_rank, main_func, num_gpus_per_machine, url, args):
    assert torch.cuda.is_available(), "cuda is not available. Please check your installation."
    logger.info("Rank {} starts.", local_rank)
    dist.init_process_group(backend="nccl", init_method=url, rank=local_rank)
    assert num_gpus_per_machine <= torch.cuda.device_count()
    torch.cuda.set_device(local_rank)
    main_func(*args)
