import torch
from torch.backends import cudnn


def set_up(device):
    if torch.cuda.is_available():
        cudnn.deterministic = False
        cudnn.benchmark = True
    if torch.cuda.is_available():
        torch.backends.cudnn.benchmark = True
        torch.cuda.empty_cache()
    return torch.device(device)
