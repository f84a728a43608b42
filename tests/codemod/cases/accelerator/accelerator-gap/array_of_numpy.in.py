import numpy as np
import torch


def load(path):
    return torch.from_numpy(np.load(path)).cuda()
