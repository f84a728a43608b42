import tdev
import torch


def count(use_xpu):
    if use_xpu:
        count = torch.xpu.device_count()
    elif use_xpu is None:
        tdev.cuda.synchronize()
        count = 0
    else:
        count = 1
    print(count)
    return tdev.cuda.device_count()
