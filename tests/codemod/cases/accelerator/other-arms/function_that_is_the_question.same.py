import torch


def can_use_cuda_kernels():
    return torch.cuda.is_available()


def is_cuda_available():
    return torch.cuda.is_available()


def device(is_mps_available):
    if is_cuda_available():
        return "cuda:0"
    elif is_mps_available():
        return "mps"
    return "cpu"
