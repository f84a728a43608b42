import torch


def quantized(config):
    if not any(
        torch.cuda.get_device_capability(index) >= (8, 9)
        for index in range(torch.cuda.device_count())
    ):
        raise ValueError("block-wise FP8 needs an L40S, an H100 or later")
    return config


def half(model):
    if torch.cuda.is_available() and torch.cuda.get_device_capability() >= (8, 0):
        return model.bfloat16()
    return model
