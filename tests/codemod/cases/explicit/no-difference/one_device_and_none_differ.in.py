import torch


def at_most_one(model, device):
    if torch.cuda.is_available() and torch.cuda.device_count() <= 1:
        model.single = True
    return torch.cuda.device_count() < 2 and device.type == "cuda"


def setup(self):
    global GPUS
    GPUS = torch.cuda.device_count()
    if GPUS > 1:
        self.spread(GPUS)


def otherwise_eight(self):
    count = torch.cuda.device_count() if torch.cuda.is_available() else 8
    if count > 1:
        self.spread(count)


def four_if_any(self):
    count = 4 if torch.cuda.device_count() else 1
    if count > 1:
        self.spread(count)
