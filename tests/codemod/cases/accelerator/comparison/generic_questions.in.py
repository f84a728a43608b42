import torch


def wait(device, x):
    rows = x.size(0)
    if device.type == "cuda":
        torch.cuda.synchronize()
    if torch.cuda.is_available() and device.type == "cuda":
        torch.cuda.synchronize()
    if x.is_cuda:
        torch.cuda.synchronize()
    if not (rows and x.is_cuda):
        return rows
    peak = 0 if device.type != "cuda" else torch.cuda.max_memory_allocated()
    return peak


def leave(device):
    if device.type != "cuda" or device.index is None:
        return
    torch.cuda.synchronize()


def test_moves():
    x = torch.zeros(3).cuda()
    assert x.is_cuda
