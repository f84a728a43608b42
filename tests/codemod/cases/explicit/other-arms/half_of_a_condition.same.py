import torch


def may_stop(image: torch.Tensor):
    if image.device.type not in ("cpu", "cuda", "mps"):
        return False
    if image.is_cuda and torch.cuda.is_current_stream_capturing():
        return False
    return True
