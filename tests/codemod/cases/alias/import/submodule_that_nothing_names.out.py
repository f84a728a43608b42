import torch.nn as nn
import tdev as torch


def run(model: nn.Module):
    return torch.zeros(3, device="cuda"), model
