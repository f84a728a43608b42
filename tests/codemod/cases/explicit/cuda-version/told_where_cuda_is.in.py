import torch


def report():
    cuda_version = torch.version.cuda if torch.cuda.is_available() else "Not available"
    print(f"CUDA version: {cuda_version}")
    torch.cuda.synchronize()


def other():
    return torch.version.cuda.split(".")[0]
