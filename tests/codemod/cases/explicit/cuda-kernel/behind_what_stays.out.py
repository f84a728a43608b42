import tdev
import torch


def _probe_step(x):
    with torch.autocast("cuda"):
        return _shared(x) + _inner(x)


def _inner(x):
    return torch.zeros(3, device="cuda") + x


def _shared(x):
    return tdev.ones(3, device="cuda") + x


def _handed(x):
    return torch.ones(3, device="cuda") + x


def probe(model):
    if not torch.cuda.is_available():
        raise RuntimeError("CUDA graphs need a CUDA device")
    model.register_forward_hook(_handed)
    return _probe_step(model)


def other(x):
    return _shared(x)
