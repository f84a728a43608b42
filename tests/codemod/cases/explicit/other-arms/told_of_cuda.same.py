import os

import torch


def reasons(bf16_cuda=False, use_cuda=False):
    found = []
    if bf16_cuda:
        if not (torch.cuda.is_available() and torch.cuda.is_bf16_supported()):
            found.append("CUDA device bf16")
    return found


def report():
    return {"count": torch.cuda.device_count(), "override": os.environ.get("NVIDIA_TF32_OVERRIDE")}
