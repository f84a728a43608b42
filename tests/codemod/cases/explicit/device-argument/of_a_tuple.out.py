import tdev
import torch


class Base(torch.nn.Module):
    def _prediction_check(self, spk_out):
        device = spk_out.device
        num_steps = spk_out.size(0)
        return device, num_steps

    def _chosen(self, name, spk_out):
        if name is None:
            return 1, spk_out.device
        where = choose(name)
        return 1, where


class Loss(Base):
    def forward(self, spk_out):
        device, num_steps = self._prediction_check(spk_out)
        return torch.zeros(num_steps, device=device)

    def other(self, name, spk_out):
        steps, device = self._chosen(name, spk_out)
        return tdev.zeros(steps, device=device)


def sized(x):
    b, n, device = *x.shape, x.device
    return torch.zeros(b, n, device=device)


def of(args):
    device, steps = parse(args)
    return tdev.zeros(steps, device=device)
