import torch


def assign(costs: torch.Tensor):
    # CUDA's solver takes them as they are; every other accelerator is moved here instead.
    if not costs.is_cuda:
        costs = costs.cpu()
    return costs
