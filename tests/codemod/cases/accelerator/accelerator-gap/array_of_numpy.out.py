import numpy as np
import torch


def load(path):
    device = torch.accelerator.current_accelerator()
    return torch.from_numpy(np.load(path)).to(device)
