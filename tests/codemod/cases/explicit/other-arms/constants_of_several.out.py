import tdev
import torch

CPU_DEVICE = torch.device("cpu")
CUDA_DEVICE = torch.device("cuda")
XPU_DEVICE = torch.device("xpu")


class Devices:
    MINE = tdev.device("cuda")
    CUDA = torch.device("cuda")  # NVIDIA's
    MPS = torch.device("mps")


USED_CUDA = tdev.device("cuda")
