import torch


def where():
    device = torch.device("cuda", torch.cuda.current_device())
    return device.type
