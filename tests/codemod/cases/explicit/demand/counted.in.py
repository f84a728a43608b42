import torch


def how_many(given):
    count = given
    if given <= 0:
        if torch.cuda.is_available():
            count = torch.cuda.device_count()
        else:
            raise ValueError("only supports GPUs")
    return count
