import nvidia_smi
import tdev
import torch


def measure(model, batches):
    nvidia_smi.nvmlInit()
    handle = nvidia_smi.nvmlDeviceGetHandleByIndex(0)
    for batch in batches:
        torch.cuda.empty_cache()
        model(batch)
        torch.cuda.synchronize()
        print(nvidia_smi.nvmlDeviceGetMemoryInfo(handle).used)


def timed(model, batch):
    model(batch)
    tdev.cuda.synchronize()
