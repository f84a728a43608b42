import tdev
import torch


def place(x, device: torch.device, name: str):
    match x.device.type:
        case _ if tdev.is_accelerator(x.device.type):
            tdev.cuda.synchronize()
        case "cpu" | "meta":
            pass
        case other:
            raise ValueError(other)
    match device.type:
        case "cpu":
            return 0
        case _ if tdev.is_accelerator(device.type):
            return tdev.cuda.device_count()
    match device.type:
        case "cuda":
            return 1
        case "xpu":
            return 2
    match device.type:
        case "cuda" if x.numel():
            return 3
        case "cuda" | "meta":
            return 4
    match name:
        case "cuda":
            return 5
    match x.to(device).device.type:
        case "cuda":
            return 6
