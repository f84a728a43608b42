import torch
from nvitop import Device


def used(user):
    if not user or not torch.cuda.is_available():
        return []
    return [each.memory_used() for each in Device.all()]
