import numpy as np
import tdev
import torch


def update(self, y):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    y = torch.tensor(np.array(y.tolist(), dtype="float64"), device=device)
    self.y.append(y)


def moved(y):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.from_numpy(y.astype(np.float64)).to(device)


def narrowed(y):
    device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
    return torch.tensor(y.astype(np.float64), dtype=torch.float32, device=device)


def table(y):
    device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
    return np.zeros(3, dtype=np.float64), torch.zeros(3, device=device)
