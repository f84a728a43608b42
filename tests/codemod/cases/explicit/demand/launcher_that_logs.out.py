import tdev
import tdev.distributed as dist
from loguru import logger


def worker(local_rank, main_func, num_gpus_per_machine, url, args):
    assert tdev.answers_cuda(), "cuda is not available. Please check your installation."
    logger.info("Rank {} starts.", local_rank)
    dist.init_process_group(backend="nccl", init_method=url, rank=local_rank)
    assert num_gpus_per_machine <= tdev.cuda.device_count()
    tdev.cuda.set_device(local_rank)
    main_func(*args)
