import torch
from devices import DeviceCPU, DeviceGPU, DeviceMPS


def picked(device):
    if device is None:
        device = DeviceGPU() if torch.cuda.is_available() else DeviceCPU()
    elif device == "mps":
        device = DeviceMPS()
    return device


def processes(args):
    args.nproc = torch.cuda.device_count()
    # could cause torch.cuda.device_count() to return 0
    return args.nproc or 1


def timeline(prof, device):
    if device is None and prof.use_device and prof.use_device != "cuda":
        device = prof.use_device + ":0"
    if device is None:
        device = "cuda:0" if torch.cuda.is_available() else "cpu"
    return prof, device
