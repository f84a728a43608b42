import os

import torch

KEY = "CURRENT_DEVICE"


def assign(cpu, rank):
    if cpu:
        os.environ[KEY] = "cpu"
    else:
        assert torch.cuda.is_available(), "cannot set cpu=false without CUDA"
        os.environ[KEY] = "cuda"
        torch.cuda.set_device(rank)


def current():
    if "cuda" in os.environ[KEY]:
        assert torch.cuda.is_available(), "cannot set cpu=false without CUDA"
        return f"cuda:{torch.cuda.current_device()}"
    return "cpu"
