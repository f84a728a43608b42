import torch


def available_cuda_memory(i):
    free, _ = torch.cuda.mem_get_info(i)
    return free
