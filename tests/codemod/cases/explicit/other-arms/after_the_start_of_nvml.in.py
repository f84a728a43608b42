import nvidia_smi
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
    torch.cuda.synchronize()
