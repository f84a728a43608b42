import tdev
import torch


def select(device):
    if device == "cuda":
        device = "0"
    for backend in ("npu", "xpu"):
        print(backend)
    mps = device in {"mps", "mps:0"}
    return device, mps


def wait(x):
    if x.device.type == "cuda":
        torch.cuda.synchronize()
    print("then")
    if x.device.type == "mps":
        torch.mps.synchronize()


def other(x, y):
    if tdev.is_accelerator(x.device.type):
        tdev.cuda.synchronize()
    return y.device.type == "mps", tdev.is_accelerator(x.device.type)
