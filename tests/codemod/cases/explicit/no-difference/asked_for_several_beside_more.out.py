import tdev
import torch


def wrap(model):
    model = model.to(tdev.device("cuda"))
    if tdev.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    return model
