import torch


def attention(flash):
    if not torch.cuda.is_available() or not flash:
        return None
    properties = torch.cuda.get_device_properties(torch.device("cuda"))
    return properties.major


def barrier(dist):
    if not torch.cuda.is_available() or not dist.is_initialized():
        return
    torch.cuda.synchronize()


def kernel():
    if not torch.cuda.is_available():
        raise ImportError("CUDA is needed for this kernel")
    return load_kernel()


def wrapped():
    return make_cuda_wrapper() if torch.cuda.is_available() else None
