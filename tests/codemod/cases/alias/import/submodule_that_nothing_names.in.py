import torch.nn as nn
import torch.nn.utils.prune


def run(model: nn.Module):
    return torch.zeros(3, device="cuda"), model
