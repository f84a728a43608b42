import torch


def embedder(device: torch.device):
    if device.type == "cuda":
        cuda_device = device.index
    else:
        cuda_device = -1
    return ElmoEmbedder(cuda_device=cuda_device)
