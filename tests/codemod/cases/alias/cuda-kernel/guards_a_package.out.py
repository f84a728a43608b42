import tdev
import torch


def enable(attention, use):
    if not use:
        return None
    elif not torch.cuda.is_available():
        raise ValueError("torch.cuda.is_available() should be True, for a GPU")
    else:
        return xformers.ops.memory_efficient_attention(attention)


def probe():
    if not torch.cuda.is_available():
        return False
    import triton

    return triton.__version__ >= "3"


def free():
    return tdev.cuda.device_count() if tdev.cuda.is_available() else 0
