import torch


def wheel():
    return f"tensorrt-cu{torch.version.cuda.partition('.')[0]}"
