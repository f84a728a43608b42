import tdev
import torch


class Discriminator(torch.nn.Module):
    def loss(self, reals):
        total = torch.tensor(0.0, device=reals.device)
        return total + self.forward(reals).mean()


def _rand_bool(shape, proba, device=None):
    if proba == 1:
        return torch.ones(shape, device=device, dtype=torch.bool)
    return torch.zeros(shape, device=device, dtype=torch.bool)


def _other(shape, device="cuda"):
    return tdev.ones(shape, device=device)


def use(embedding):
    a = _rand_bool((3,), 1.0, device=embedding.device)
    return a, _rand_bool((3,), 0.5), _other((3,), embedding.device)
