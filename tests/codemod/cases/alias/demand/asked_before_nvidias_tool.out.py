from typing import TYPE_CHECKING

import tdev
import torch

if TYPE_CHECKING:
    try:
        from torch.amp import GradScaler
    except ImportError:
        from torch.cuda.amp import GradScaler


def f(scaler: "GradScaler"):
    return scaler


def g(device):
    if torch.device(device).type == "xla":
        raise ValueError("no")
    return tdev.device(device)


def info():
    try:
        from pynvml.smi import nvidia_smi
    except ImportError:
        raise ModuleNotFoundError("needs pynvml")
    if not torch.cuda.is_available():
        raise RuntimeError("This module requires available GPU")
    # Let it fail
    return nvidia_smi.getInstance()
