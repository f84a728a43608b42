import torch

rwkv_cuda_kernel = None


def load_wkv_cuda_kernel(n):
    global rwkv_cuda_kernel


def linear(time_decay, key, value):
    no_cuda = any(t.device.type != "cuda" for t in [time_decay, key, value])
    if rwkv_cuda_kernel is None or no_cuda:
        return 1
    return RwkvLinear.apply(time_decay)
