import torch


def could_use_op(input):
    if not torch.backends.cudnn.enabled:
        return False

    if input.device.type != "cuda":
        return False

    return True


def move(input):
    if input.device.type != "cuda":
        return input
    return input.cpu()
