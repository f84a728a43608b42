import torch


def facts():
    found = {}
    if torch.cuda.is_available():
        found["cuda_name"] = torch.cuda.get_device_name(0)
    return found
