import tdev
import torch as th

def pick(device, model):
    if tdev.is_accelerator(device.type) and not tdev.cuda.is_available():
        return th.device("cpu")
    return not tdev.is_accelerator(model.device.type)
