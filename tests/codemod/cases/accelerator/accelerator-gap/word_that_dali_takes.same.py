import torch


def loader(config):
    device = "gpu" if torch.cuda.is_available() else "cpu"
    return get_dali_dataset(config, device=device)
