import torch


def checked(index):
    if index >= torch.cuda.device_count():
        raise RuntimeError(f"expected an index below {torch.cuda.device_count()}")


def checked_for_cuda(index):
    if index >= torch.cuda.device_count():
        raise RuntimeError(f"no such CUDA device among {torch.cuda.device_count()}")
