import torch


def cuda_device_if_there(index: int = 0):
    """Return the device of CUDA; the CPU where it is missing."""
    if torch.cuda.is_available():
        return torch.device(f"cuda:{index}")
    return torch.device("cpu")


def mps_device_if_there():
    """Return the device of MPS; the CPU where it is missing."""
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def has_cuda():
    return torch.cuda.is_available()


def has_mps():
    return torch.backends.mps.is_available()


class Memory:
    def cuda_memory(
        self,
    ):
        return torch.cuda.current_allocated_memory()

    def mps_memory(
        self,
    ):
        return torch.mps.current_allocated_memory()
