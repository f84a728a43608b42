import torch


def start(device):
    torch.cuda.set_device(device)
