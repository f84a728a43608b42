import torch


def reasons(device):
    if not device.startswith("cuda") or torch.cuda.get_device_capability()[0] < 8:
        return ["A100"]
    return []
