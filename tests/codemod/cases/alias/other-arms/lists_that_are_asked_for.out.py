import tdev as torch


def fast(x, y):
    if torch.is_accelerator(x.device.type) or torch.is_accelerator(
        y.device.type
    ):
        return True
    if torch.is_accelerator(y.device.type):
        return torch.is_accelerator(x.device.type)
    return y.device.type == "cuda" or x.device.type in ("npu", "xpu")
