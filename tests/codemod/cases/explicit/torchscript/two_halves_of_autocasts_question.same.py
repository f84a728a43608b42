import torch


@torch.jit.script
def in_half(x: torch.Tensor) -> bool:
    return torch.is_autocast_enabled() and torch.get_autocast_gpu_dtype() == torch.float16
