import torch


def place(device: str):
    if device.startswith("cuda:"):
        torch.cuda.set_device(device)
    elif device.startswith("npu:"):
        torch.npu.set_device(device)
