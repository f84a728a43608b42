import torch

name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"
if torch.cuda.is_available():
    torch.cuda.nvtx.range_push("step")
if torch.cuda.is_available():
    torch.cuda.synchronize()


def describe():
    cuda = torch.cuda.is_available()
    return torch.cuda.get_device_capability() if cuda else None


def count():
    cuda = torch.cuda.is_available()
    return torch.cuda.device_count() if cuda else 0
