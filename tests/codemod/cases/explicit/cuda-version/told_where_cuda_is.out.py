import tdev
import torch


def report():
    cuda_version = torch.version.cuda if torch.cuda.is_available() else "Not available"
    print(f"CUDA version: {cuda_version}")
    tdev.cuda.synchronize()


def other():
    return tdev.version.cuda.split(".")[0]
