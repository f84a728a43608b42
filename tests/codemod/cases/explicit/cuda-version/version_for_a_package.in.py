import torch


def check_tensorrt(minimum):
    cuda_version = torch.version.cuda.split(".")[0]
    require(f"tensorrt-cu{cuda_version}>={minimum}")


def other():
    return torch.version.cuda.split(".")[0]
