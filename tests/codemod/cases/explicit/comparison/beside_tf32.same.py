import torch


def fix(device: torch.device):
    if (device.type == "cuda") and (torch.backends.cuda.matmul.allow_tf32):
        torch.backends.cuda.matmul.allow_tf32 = False
