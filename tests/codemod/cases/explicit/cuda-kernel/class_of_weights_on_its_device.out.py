import tdev
import torch
from torch.utils.data import WeightedRandomSampler


class Balanced:
    def __init__(self, model):
        self.model = model
        if torch.cuda.is_available():
            torch.cuda.manual_seed(0)
            self.model.cuda()
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def sampler(self, rows):
        weights = torch.tensor(rows.weights, device=self.device)
        return WeightedRandomSampler(weights, num_samples=len(rows))


class OnTheCpu:
    def __init__(self, model):
        self.model = model
        if tdev.cuda.is_available():
            self.model.cuda()
        self.device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")

    def sampler(self, rows):
        return WeightedRandomSampler(torch.tensor(rows.weights), num_samples=len(rows))
