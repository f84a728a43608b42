import torch


class Layer(torch.nn.Module):
    def __init__(self, n, device=None, dtype=None):
        super().__init__()
        factory_kwargs = {"device": device, "dtype": dtype}
        self.weight = torch.nn.Parameter(torch.empty(n, **factory_kwargs))
        self.bias = torch.nn.Parameter(torch.empty(n, **dict(device="cuda")))
        self.plain = torch.nn.Parameter(torch.empty(n, **{"dtype": dtype}))
