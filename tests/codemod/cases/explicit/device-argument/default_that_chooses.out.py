import tdev
import torch


def build(n, device=tdev.device("cuda" if tdev.cuda.is_available() else "cpu")):
    x = torch.ones(n).to(device)
    return (x + tdev.ones(n, device=device)).sum()


class Trainer:
    device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")

    def zeros(self, n):
        return torch.zeros(n, device=self.device).to(Trainer.device)


print(build(3).item(), Trainer().zeros(2).sum().item())
