import torch

HAS_AMP = hasattr(torch.cuda.amp, "autocast")


def check(info):
    if info["cuda_version"] != torch.version.cuda:
        raise ImportError("the operators were built for another CUDA")


def report():
    return {
        "cuda_available": torch.cuda.is_available(),
        "cuda_device_count": torch.cuda.device_count() if torch.cuda.is_available() else 0,
    }
