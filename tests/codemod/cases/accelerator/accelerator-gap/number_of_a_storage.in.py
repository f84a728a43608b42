import torch


def load(path):
    device_id = torch.cuda.current_device()
    return torch.load(path, map_location=lambda storage, loc: storage.cuda(device_id))


def other():
    device_id = torch.cuda.current_device()
    return device_id
