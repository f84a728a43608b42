import torch
from mmengine.device import get_device
from sentence_transformers.util import get_device_name


def queue(n):
    return torch.zeros(n, 8, device=get_device())


def mask(n):
    device = get_device_name()
    return torch.ones(n, device=device)
