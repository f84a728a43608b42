import tdev
import torch
from accelerate.utils import is_torch_version


def module(kind):
    module = tdev.get_device_module(kind) if is_torch_version(">=", "2.4.0") else torch.cuda
    tdev.cuda.synchronize()
    return module
