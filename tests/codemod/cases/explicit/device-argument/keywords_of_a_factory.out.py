import tdev
import torch


class Layer(torch.nn.Module):
    def __init__(self, n, device=None, dtype=None):
        super().__init__()
        self.factory_kwargs = {"device": device, "dtype": dtype}
        self.weight = torch.nn.Parameter(tdev.empty(n, **self.factory_kwargs))


class Kernel(Layer):
    def grid(self, n):
        return tdev.linspace(0, 1, n, **self.factory_kwargs)


class Fixed:
    def __init__(self, x: torch.Tensor):
        self.factory_kwargs = {"device": x.device, "dtype": x.dtype}

    def grid(self, n):
        return torch.linspace(0, 1, n, **self.factory_kwargs)
