import subprocess

import torch


def old(config):
    if torch.cuda.get_device_capability()[0] < 8:
        print("Compute capability below sm80: float16")
        config.dtype = torch.float16


def check_cuda_fp8_capability():
    try:
        return subprocess.check_output(["nvidia-smi", "--query-gpu=compute_capability"])
    except OSError:
        return torch.cuda.get_device_capability()


def precision(wanted):
    if wanted == "fp8":
        if torch.cuda.is_available() and not check_cuda_fp8_capability():
            print(f"{torch.cuda.get_device_capability()} is not enough")
            wanted = "fp16"
    return wanted


def plain():
    major, _ = torch.cuda.get_device_capability()
    return major >= 8
