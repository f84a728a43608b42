import warnings

import torch


def fallback(requested, classifier):
    device_type = torch.device(requested).type
    if classifier == "mlp":
        use_gpu = (device_type == "cuda" and torch.cuda.is_available()) or (
            device_type == "mps" and torch.backends.mps.is_available()
        )
        if not use_gpu and device_type in ("cuda", "mps"):
            warnings.warn(f"The requested device {requested} is not available.")
        return use_gpu
    if device_type in ("cuda", "mps"):
        warnings.warn("Neither GPU nor MPS is supported.")
    return False
