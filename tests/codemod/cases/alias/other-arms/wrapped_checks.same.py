import torch

from .utils import is_npu_available, is_xpu_available

def backend():
    if is_xpu_available():
        return "xpu"
    if torch.cuda.is_available():
        return "cuda"
    return "npu" if is_npu_available() else "cpu"
