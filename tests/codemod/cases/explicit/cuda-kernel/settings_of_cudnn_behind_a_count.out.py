import tdev
import torch


def seed(n):
    torch.manual_seed(n)
    if torch.cuda.is_available() and torch.cuda.device_count() > 0:
        torch.backends.cudnn.deterministic = True
        torch.backends.cudnn.benchmark = False


def seed_all(n):
    if tdev.cuda.is_available() and tdev.cuda.device_count() > 0:
        tdev.cuda.manual_seed_all(n)
        torch.backends.cudnn.benchmark = False
