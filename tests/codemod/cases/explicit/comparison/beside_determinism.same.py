import torch


def scale(data):
    # A sum that goes on has no deterministic kernel in CUDA.
    deterministic = torch.are_deterministic_algorithms_enabled()
    if deterministic and data.device.type == "cuda":
        torch.use_deterministic_algorithms(False)
    total = torch.cumsum(data, dim=-1)
    if deterministic and data.device.type == "cuda":
        torch.use_deterministic_algorithms(True)
    return total
