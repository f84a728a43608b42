import torch


def prefetch(device):
    with_cuda = torch.cuda.is_available()
    with_xpu = torch.xpu.is_available()
    if device is None:
        device = "cuda" if with_cuda else "cpu"
    found = torch.device(device)
    if (found.type == "cuda" and not with_cuda) or (found.type == "xpu" and not with_xpu):
        found = torch.device("cpu")
    return found


def free():
    torch.cuda.empty_cache()
