import nvdiffrast.torch as dr
import torch


def render(mtx):
    return torch.zeros(3, device="cuda")
