import tdev as th

def pick(device, model):
    if device.type == th.device("cuda").type and not th.cuda.is_available():
        return th.device("cpu")
    return not th.is_accelerator(model.device.type)
