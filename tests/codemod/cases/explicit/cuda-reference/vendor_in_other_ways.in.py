import torch


def is_rocm():
    return torch.cuda.is_available() and "AMD" in torch.cuda.get_device_name(0)


def is_nvidia():
    name: str = str(torch.cuda.get_device_name(0)).lower()
    return "nvidia" in name


class Report:
    def __init__(self):
        self.name = torch.cuda.get_device_name()
        self.fast = "NVIDIA" in self.name
