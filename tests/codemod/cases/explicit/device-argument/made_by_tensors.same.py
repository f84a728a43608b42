import torch


class Kernel(torch.nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_parameter(name="raw_offset", parameter=torch.nn.Parameter(torch.zeros(dim)))

    def orders(self, d):
        device = self.raw_offset.device
        return {"bias": torch.tensor([0], device=device), "first": torch.arange(d, device=device)}


def spray(bounds: torch.Tensor, num_binary, found):
    tkwargs = {"device": bounds.device, "dtype": bounds.dtype}
    dims = torch.tensor([0, 1], dtype=torch.long, device=tkwargs["device"])
    candidates = torch.empty(0, 2, **tkwargs)
    starts = search(bounds)
    starts = starts.squeeze(-2).detach()
    for i, xi in enumerate(starts):
        xi[torch.randperm(num_binary, device=xi.device)] = bounds[1, dims]
    return candidates


def step(ys, past):
    last = ys[-1].view(1, 1)
    return torch.tensor([[past]], dtype=torch.long, device=last.device)


def power(B, C, kind, L):
    C = (B[:, None, :, :] * C).view(-1, 2, 3)
    if kind == "zoh":
        C = C * 2
    elif kind == "dss":
        return torch.arange(L, device=C.device)
    return C
