import torch


def f(x, device):
    if x.device.type == "cuda" and torch.version.hip is None:
        torch.cuda.synchronize()
    if device.type == "cuda" and torch.cuda.get_device_capability()[0] >= 8:
        torch.cuda.empty_cache()
    if not torch.version.hip and x.is_cuda:
        return torch.zeros(3, device="cuda")
    return x
