import tdev
import torch


def _latents(latents, count, device=None):
    if latents is None:
        return torch.randn(count, device=device)
    device, dtype = (latents.device, latents.dtype) if latents is not None else (device, None)
    return torch.randn(count, device=device, dtype=dtype)


def _others(latents, count, device=None):
    device, dtype = (latents.device, latents.dtype) if latents is not None else ("cuda", None)
    return tdev.randn(count, device=device, dtype=dtype)


def generate(tokens, latents):
    count, device = tokens.shape[0], tokens.device
    return _latents(latents, count, device=device), _others(latents, count, device=device)


def _noise(shape, device):
    return torch.randn(shape, device=device)


def sample(x):
    batch, *_, device = *x.shape, x.device
    return _noise((batch, 3), device)


def first(x, config):
    device, *_ = config.device, *x.shape
    return tdev.randn(3, device=device)
