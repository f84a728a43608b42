import tdev
import torch


def reader(path, wanted=None):
    if wanted is None:
        # The first two are written with NVIDIA's library: both of them require a
        # CUDA device, and end the process where they find none.
        wanted = "plain"
        if torch.cuda.is_available():
            from .readers import fast

            wanted = "fast" if fast(path) else "faster"
    return wanted


def device(wanted=None):
    # Faster by far.
    wanted = "cpu"
    if tdev.cuda.is_available():
        wanted = "cuda"
    return tdev.device(wanted)
