import tdev
import torch

DEVICES = ["cpu"]
if tdev.cuda.is_available():
    DEVICES.append("cuda")


def measured(measure, x):
    if x.dtype in (torch.float32, torch.float64):
        return [measure(x.float(), device) for device in DEVICES]
    return []
