import os
from pathlib import Path

import tdev
import torch


class Agent:
    def __init__(self, model, device):
        self.model = model
        self.device = tdev.device(device)
        self.steps = 0
        self.interval = 4
        self.best = 0.5

    def train(self, batch):
        self.steps += 1
        self.steps = self.interval * self.steps
        return self.model(batch.to(self.device))

    def save(self, folder):
        torch.save(self.steps, os.path.join(folder, "steps.pt"))
        torch.save(self.best, os.path.join(folder, "best.pt"))
        torch.save(repr(self.model), os.path.join(folder, "model.pt"))
        torch.save(self.model.state_dict(), os.path.join(folder, "weights.pt"))

    def load(self, folder):
        self.steps = torch.load(os.path.join(folder, "steps.pt"))
        self.best = torch.load(os.path.join(folder, "best.pt"))
        file = os.path.join(folder, "model.pt")
        if torch.load(file) != repr(self.model):
            raise ValueError("another model")
        self.model.load_state_dict(tdev.load(os.path.join(folder, "weights.pt")))
        return tdev.load(os.path.join(folder, "other.pt"))


class Averages:
    def __init__(self, folder, model):
        self.folder = Path(folder)
        self.model = model.to("cuda")

    def keep(self, step):
        path = self.folder / f"{step}.pt"
        states = {k: v.to(device="cpu", copy=True) for k, v in self.model.state_dict().items()}
        torch.save(states, str(path))

    def average(self):
        files = [*self.folder.glob("*.pt")]
        for file in files:
            yield torch.load(str(file), weights_only=True)
