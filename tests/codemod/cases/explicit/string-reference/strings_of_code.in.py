import subprocess
import sys

import torch

DEFAULTS = {"device": "$torch.device('cuda:0' if torch.cuda.is_available() else 'cpu')"}
MESSAGE = "torch.cuda.is_available() should be True"


def count():
    """torch.cuda.device_count()"""
    print("torch.cuda.device_count()")
    subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count())"])
    return torch.cuda.device_count()


def module(device, dtype):
    return getattr(torch, device.type), getattr(torch, dtype)
