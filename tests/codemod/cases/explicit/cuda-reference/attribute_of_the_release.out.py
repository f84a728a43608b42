import tdev
import torch

native = False
try:
    if getattr(torch.cuda.amp, "autocast") is not None:
        native = True
except AttributeError:
    pass


def counts():
    count = getattr(tdev.cuda, "device_count")
    if getattr(torch.cuda, "memory_summary", None) is None:
        return count()
    return tdev.cuda.memory_summary()
