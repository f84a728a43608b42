import pointnet2_cuda as pointnet2
import torch


def sample(xyz):
    return torch.zeros(3, device="cuda")
