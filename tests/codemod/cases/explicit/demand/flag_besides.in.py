import torch


def measure(name, *, cuda_sync=None):
    if cuda_sync and not torch.cuda.is_available():
        raise ValueError("CUDA must be available to synchronize with it")
    cuda_sync = cuda_sync if cuda_sync is not None else torch.cuda.is_available()
    if cuda_sync:
        torch.cuda.synchronize()
    return name
