import torch

def provider(device, available):
    if device.type == "cuda" and "CUDAExecutionProvider" in available:
        return "CUDAExecutionProvider"
    return "CPUExecutionProvider", torch.ones(1)
