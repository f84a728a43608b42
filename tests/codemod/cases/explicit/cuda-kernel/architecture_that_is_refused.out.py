import tdev
import torch

OLDEST = (7, 5)


def check_compiler():
    if not torch.cuda.is_available():
        return
    found = torch.cuda.get_device_capability()
    if found >= OLDEST:
        return
    raise RuntimeError(f"the compiler needs a capability of 7.5, and the device has {found[0]}.{found[1]}")


def chooses():
    if not tdev.cuda.is_available():
        return "eager"
    found = tdev.cuda.get_device_capability()
    if found < OLDEST:
        return "eager"
    return "compiled"
