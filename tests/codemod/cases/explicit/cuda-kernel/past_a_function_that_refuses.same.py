"""The largest batch that a GPU takes: running out of CUDA's memory is what ends the search."""

import gc

import torch


def _is_oom_error(exc):
    oom_type = getattr(torch.cuda, "OutOfMemoryError", None)
    return oom_type is not None and isinstance(exc, oom_type)


def _resolve_device(model, device):
    if device is None:
        device = next(model.parameters()).device
    device = torch.device(device)
    if device.type != "cuda" or not torch.cuda.is_available():
        raise RuntimeError(f"the search requires a CUDA device, but got {device.type}")
    return device


def _fits(model, device, size):
    try:
        model(torch.empty(size, device=device))
        torch.cuda.synchronize(device)
        return True
    except Exception as exc:
        if _is_oom_error(exc):
            return False
        raise
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def largest(model, device=None):
    device = _resolve_device(model, device)
    size = 1
    while _fits(model, device, 2 * size):
        size *= 2
    torch.cuda.reset_peak_memory_stats()
    return size
