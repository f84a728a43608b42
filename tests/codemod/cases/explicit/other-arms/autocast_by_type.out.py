import tdev
import torch


def cast(x):
    if torch.is_autocast_enabled():
        if x.device.type == "cuda":
            return x.to(torch.get_autocast_gpu_dtype())
        elif x.device.type == "xpu":
            return x.to(torch.bfloat16)
        else:
            raise NotImplementedError()
    return x


def clear():
    tdev.cuda.empty_cache()
