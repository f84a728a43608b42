from torch.cuda import device_count as cuda_device_count
from torch.cuda import is_available as gpu_available


def report():
    return cuda_device_count() if gpu_available() else 0
