import torch


def explained(model, warn):
    # Check for InputXGradient on GPU (cudnn error)
    using_gpu = False
    if torch.cuda.is_available():
        using_gpu = True
    if using_gpu:
        warn("recurrent models on GPU cause cudnn errors")
    return model


def resolved(device):
    """The ``"auto"`` device is resolved to ``"cuda"`` if CUDA is available."""
    if device == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "cpu"
    return device
