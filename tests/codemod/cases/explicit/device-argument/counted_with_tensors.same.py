import torch


class Schedule:
    def reset(self, model):
        kept = model.alphas
        self.noisiness = ((1.0 - kept) / kept) ** 0.5
        self.steps = kept.shape[0]

    def ramp(self, n):
        device = self.noisiness.device
        return torch.linspace(0, 1, n, device=device)
