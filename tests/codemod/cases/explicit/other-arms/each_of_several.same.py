import contextlib

import torch


def computes_lower():
    return any(torch.is_autocast_enabled(kind) for kind in ("cpu", "cuda", "mps", "xpu"))


def preserved():
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.random.fork_rng(devices=devices, device_type="cuda"))
        if torch.backends.mps.is_available():
            stack.enter_context(torch.random.fork_rng(devices=[0], device_type="mps"))
        yield
