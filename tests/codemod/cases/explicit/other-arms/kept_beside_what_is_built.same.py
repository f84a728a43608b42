try:
    import torch

    has_torch = True
    has_cuda_gpu = torch.cuda.device_count() != 0
    has_mps = hasattr(torch.backends, "mps") and torch.backends.mps.is_built()
    has_mps_gpu = has_mps and torch.backends.mps.is_available()
    has_gpu = has_cuda_gpu
except ImportError:
    has_torch = has_cuda_gpu = has_mps = has_mps_gpu = has_gpu = False
