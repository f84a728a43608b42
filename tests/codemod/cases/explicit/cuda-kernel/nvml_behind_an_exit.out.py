import nvidia_smi
import tdev
import torch


def sizes():
    if not torch.cuda.is_available():
        return []
    nvidia_smi.nvmlInit()
    return [nvidia_smi.nvmlDeviceGetMemoryInfo(0).free]


def free():
    tdev.cuda.empty_cache()
