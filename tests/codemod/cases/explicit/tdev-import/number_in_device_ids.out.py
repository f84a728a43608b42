import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
from torch import nn


def parallel(model, ids):
    return nn.DataParallel(model, device_ids=ids)
