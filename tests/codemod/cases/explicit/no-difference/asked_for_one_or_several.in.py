import torch


def count(self):
    devices = torch.cuda.device_count()
    if devices > 1:
        self.side_by_side(devices)
    return devices


def any_at_all():
    return torch.cuda.device_count() > 0
