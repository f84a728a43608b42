import torch

from .losses import smooth


class Trainer:
    rows = 0

    def __init__(self, device):
        self.device = torch.device(device)
        self.model = torch.nn.Linear(2, 2, bias=False).to(self.device)
        with torch.no_grad():
            self.model.weight.copy_(torch.eye(2))

    def run(self, steps):
        total = 0.0
        for step in range(steps):
            x = torch.ones(3, 2, device=self.device) * step
            total += smooth(self.model(x), self.device).item()
            self.rows += len(x)
        return total
