import tdev
import torch
import torch.nn.functional as F
from package import _TORCH_GREATER_EQUAL_1_8

if not hasattr(F, "scaled_dot_product_attention") and torch.cuda.is_available():
    print("a newer torch has flash attention")


def broadcast(value, device=None, here=False):
    if _TORCH_GREATER_EQUAL_1_8:
        if here:
            return value
        else:
            return torch.zeros_like(value)
    if device is None:
        device = torch.cuda.current_device()
    return torch.empty(3, device="cuda")


def may_go_on(value, here=False):
    if _TORCH_GREATER_EQUAL_1_8:
        if here:
            return value
    return value + tdev.cuda.current_device()
