import torch


def kind_of(device):
    if device == "cpu":
        kind = "cpu"
    elif "cuda" in device:
        kind = "cuda"
        torch.cuda.set_device(0)
    else:
        kind = device.split(":")[0]
    return kind
