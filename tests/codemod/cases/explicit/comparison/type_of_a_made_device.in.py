import torch as th

def pick(device, model):
    if device.type == th.device("cuda").type and not th.cuda.is_available():
        return th.device("cpu")
    return model.device.type != th.device("cuda").type
