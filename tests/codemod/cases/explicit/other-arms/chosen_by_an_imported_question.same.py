from torch.backends.mps import is_available as is_mps_available
from torch.cuda import is_available as is_cuda_available

BACKENDS = {
    "cuda": (1, is_cuda_available),
    "mps": (2, is_mps_available),
}


def get_default_device():
    if is_cuda_available():
        return "cuda"
    elif is_mps_available():
        # Some operators of this package do not run there yet.
        return "cpu"
    else:
        return "cpu"
