import torch

CPU_DEVICE = torch.device("cpu")
CUDA_DEVICE = torch.device("cuda")
XPU_DEVICE = torch.device("xpu")


class Devices:
    MINE = torch.device("cuda")
    CUDA = torch.device("cuda")  # NVIDIA's
    MPS = torch.device("mps")


USED_CUDA = torch.device("cuda")
