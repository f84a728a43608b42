import pynvml
import torch


def measure(model, batch):
    pynvml.nvmlInit()
    model(batch)
    torch.cuda.synchronize()
    return pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).used
