import torch


def _supports_loss_kernel(logits):
    supported = (
        logits.device.type in ("cuda", "xpu")
        and logits.dtype is torch.float16
    )
    return supported


def triton_works(x):
    return x.device.type == "cuda"


def run(x: torch.Tensor):
    use_fused_kernel = x.is_cuda
    return use_fused_kernel
