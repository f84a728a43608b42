import tdev
import torch


def place(number):
    count = torch.cuda.device_count()
    if count == 0:
        return None
    index = number % count
    try:
        return _next_free(index)
    except ModuleNotFoundError:
        return index


def _next_free(index):
    import GPUtil

    free = GPUtil.getAvailability(GPUtil.getGPUs(), maxLoad=0.5)
    return index if free[index] else None


def spread(number):
    count = tdev.cuda.device_count()
    return number % count if count else None
