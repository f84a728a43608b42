import torch.nn as nn
import tdev as torch
import tdev.nn.utils.prune


def run(model):
    nn.utils.prune.random_unstructured(model, "weight", 0.5)
    return torch.zeros(3, device="cuda"), model
