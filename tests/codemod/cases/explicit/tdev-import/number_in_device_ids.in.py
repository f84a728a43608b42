from torch import nn


def parallel(model, ids):
    return nn.DataParallel(model, device_ids=ids)
