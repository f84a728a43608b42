try:
    import torch
except ImportError:
    torch = None

HAS_CUDA = torch is not None and torch.accelerator.is_available()
