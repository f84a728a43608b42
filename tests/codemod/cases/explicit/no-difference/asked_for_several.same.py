import torch


def wrap(model, device):
    if torch.cuda.is_available() and torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    elif torch.cuda.device_count() >= 2 and device.type == "cuda":
        model = Wrapped(model)
    return model


def beams(self):
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count > 1:
        self.side_by_side(count)
    else:
        self.alone()


class Wrapped(torch.nn.DataParallel):
    pass
