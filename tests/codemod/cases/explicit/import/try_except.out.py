try:
    import tdev
    import torch
except ImportError:
    torch = None

HAS_CUDA = torch is not None and tdev.cuda.is_available()
