import tdev
import torch


class Env:
    def __init__(self, gpu):
        self.device = tdev.device(f"cuda:{gpu}" if tdev.cuda.is_available() else "cpu")


def check(gpu):
    env = Env(gpu)
    return torch.rand(3, device=env.device)


def chosen():
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return torch.zeros(1, 0, 3, device=device)


def exported(path):
    load_kwargs = dict(map_location="cpu", weights_only=True)
    return torch.load(path, **load_kwargs)


def get_device(x):
    return str(x.device)


def noise(x, td):
    a = torch.randn(3, device=get_device(x))
    return a + torch.zeros(3, device=td.device)
