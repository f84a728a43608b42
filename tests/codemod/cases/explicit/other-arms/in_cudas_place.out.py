import tdev
import torch


def replace():
    torch.cuda.current_device = torch.xpu.current_device
    torch.cuda.Stream = torch.xpu.Stream
    torch.cuda.is_current_stream_capturing = lambda: False
    torch.has_cuda = True
    return torch.cuda.is_available()


def seed(n):
    torch.has_cuda = False
    tdev.cuda.manual_seed(n)
