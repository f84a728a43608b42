import torch


class Cached(torch.nn.Module):
    def forward(self, features, labels):
        total = self.forward_cached(features, labels)
        return {key: torch.tensor(value, device=total.device) for key, value in self.values.items()}
