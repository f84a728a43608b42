import torch


class Base(torch.nn.Module):
    def _prediction_check(self, spk_out):
        device = spk_out.device
        num_steps = spk_out.size(0)
        return device, num_steps


class Loss(Base):
    def forward(self, spk_out):
        device, num_steps = self._prediction_check(spk_out)
        return torch.zeros(num_steps, device=device)


def materialize(spec):
    shape, dtype, device = spec
    return torch.empty((), dtype=dtype, device=device).expand(shape)


def of(args):
    device, steps = parse(args)
    return torch.zeros(steps, device=device)
