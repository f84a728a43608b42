import tdev
import torch


def noise(x: torch.Tensor, seed: int):
    g = tdev.Generator(device=x.device)
    g.manual_seed(seed)
    return torch.randn(x.shape, generator=g, device=x.device)


def weights(module: torch.nn.Module, where: torch.device):
    host = torch.Generator(device="cpu")
    also = torch.Generator(torch.device("cpu"))
    there = tdev.Generator(next(module.parameters()).device)
    return host, also, there, tdev.Generator(where), torch.Generator()
