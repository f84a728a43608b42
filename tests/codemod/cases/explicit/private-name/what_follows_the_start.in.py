import torch
from torch.cuda import _lazy_init


def state(device, plain):
    if plain:
        return torch.cuda.get_rng_state(device)
    _lazy_init()
    index = device.index
    if index is None:
        index = torch.cuda.current_device()
    return torch.cuda.default_generators[index].graphsafe_get_state()


def started():
    torch.cuda._lazy_init()
    torch.cuda.synchronize()


def free():
    torch.cuda.empty_cache()
