import torch
from torch.cuda import device_count


def spread(model):
    if device_count() > 1:
        model = torch.nn.DataParallel(model)
    return model, range(device_count())
