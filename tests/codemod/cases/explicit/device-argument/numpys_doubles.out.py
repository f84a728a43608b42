import numpy as np
import tdev
import torch


def labels(model, columns, flags):
    device = next(model.parameters()).device
    found = []
    for each in columns:
        column = np.zeros(len(each))
        column[each == 1] = 1
        found.append(column)
    counts = np.zeros(3, dtype=np.int64)
    kept = torch.tensor(counts, device=device), torch.tensor(flags, device=device)
    return tdev.tensor(found, device=device).T, kept


class Noise:
    def __init__(self, model):
        self.device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
        self.model = model.to(self.device)

    def sample(self, n):
        here = torch.as_tensor(np.random.randn(n), dtype=torch.float32, device=self.device)
        return tdev.as_tensor(np.random.randn(n), device=self.device) + here
