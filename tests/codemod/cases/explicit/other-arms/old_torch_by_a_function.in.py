import torch
from accelerate.utils import is_torch_version


def module(kind):
    module = torch.get_device_module(kind) if is_torch_version(">=", "2.4.0") else torch.cuda
    torch.cuda.synchronize()
    return module
