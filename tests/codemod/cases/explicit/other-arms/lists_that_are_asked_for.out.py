import tdev
import torch


def fast(x, y):
    if tdev.is_accelerator(x.device.type) or tdev.is_accelerator(
        y.device.type
    ):
        return True
    if tdev.is_accelerator(y.device.type):
        return tdev.is_accelerator(x.device.type)
    return y.device.type == "cuda" or x.device.type in ("npu", "xpu")
