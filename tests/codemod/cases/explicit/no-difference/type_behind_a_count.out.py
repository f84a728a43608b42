import tdev
import torch


def wrap(model, device):
    model = model.to(tdev.device("cuda"))
    if tdev.cuda.device_count() > 1 and tdev.is_accelerator(device.type):
        model = torch.nn.DataParallel(model)
    return model
