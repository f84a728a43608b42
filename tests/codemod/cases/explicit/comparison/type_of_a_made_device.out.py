import tdev
import torch as th

def pick(device, model):
    if (
        device.type == tdev.device("cuda").type
        and not tdev.cuda.is_available()
    ):
        return th.device("cpu")
    return not tdev.is_accelerator(model.device.type)
