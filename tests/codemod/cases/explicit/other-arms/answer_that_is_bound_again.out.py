import tdev
import torch


def knows():
    return torch.backends.mps.is_available()


def again(args, x):
    on_cuda = x.device.type == "cuda"
    on_cuda |= args.force
    if on_cuda:
        return tdev.zeros(3, device="cuda")
    return None


def in_a_loop(several, x):
    on_cuda = x.device.type == "cuda"
    for on_cuda in several:
        if on_cuda:
            tdev.zeros(3, device="cuda")


def of_another(x):
    on_cuda = x.device.type == "cuda"

    def inner(n: int, on_cuda: bool = True):
        if on_cuda:
            return tdev.zeros(n, device="cuda")
        return None

    return inner(3), on_cuda


def once(x):
    on_cuda = x.device.type == "cuda"
    if on_cuda:
        return torch.zeros(3, device="cuda")
    return None
