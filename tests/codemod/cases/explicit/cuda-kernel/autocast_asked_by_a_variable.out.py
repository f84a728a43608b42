import tdev
import torch


def cast(x):
    enabled = torch.is_autocast_enabled()
    if enabled:
        if x.device.type == "cuda":
            return x.to(torch.get_autocast_gpu_dtype())
        elif x.device.type == "xpu":
            return x.to(torch.get_autocast_dtype("xpu"))
        raise NotImplementedError
    return x


def half(x):
    enabled = tdev.is_autocast_enabled()
    return x.to(tdev.get_autocast_gpu_dtype()) if enabled else x
