import torch

from lab.utils import check_nvlink_connectivity


def setup(fabric, devices):
    if torch.cuda.is_available() and devices > 1:
        check_nvlink_connectivity(fabric)
    return fabric
