import os

import torch

from .machine import is_nvidia_machine, is_rocm_machine


def numbers(device: str):
    if device == "cuda":
        if is_rocm_machine():
            return os.environ.get("ROCR_VISIBLE_DEVICES", "0")
        elif is_nvidia_machine():
            return os.environ.get("CUDA_VISIBLE_DEVICES", "0")
        else:
            raise RuntimeError("neither of NVIDIA's nor of AMD's")
    return None


def put(device: str):
    if device == "cuda":
        print("on the GPU")
    return torch.zeros(3, device=device)
