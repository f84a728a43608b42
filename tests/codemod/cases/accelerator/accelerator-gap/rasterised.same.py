import nvdiffrast.torch as dr
import torch


def transform(pos):
    return torch.ones([pos.shape[0], 1]).cuda()
