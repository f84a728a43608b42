import tdev
import torch
from torch.backends import cudnn


def set_up(device):
    if torch.cuda.is_available():
        cudnn.deterministic = False
        cudnn.benchmark = True
    if tdev.cuda.is_available():
        torch.backends.cudnn.benchmark = True
        tdev.cuda.empty_cache()
    return tdev.device(device)
