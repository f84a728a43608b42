import tdev
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .deepep import dispatch_tokens


def shapes():
    with FakeTensorMode() as mode:
        x = torch.empty(4, 8, device="cuda")
    with torch.no_grad():
        y = tdev.empty(4, 8, device="cuda")
    return x.shape, y.shape


@torch.library.custom_op("own::dispatch", mutates_args=(), device_types="cuda")
def dispatch(x: torch.Tensor) -> torch.Tensor:
    return dispatch_tokens(x)


@tdev.library.custom_op("own::scale", mutates_args=(), device_types="cuda")
def scale(x: torch.Tensor, by: float) -> torch.Tensor:
    y = torch.mul(x, by)
    return y.contiguous()


def fast(is_rocm):
    return is_rocm and torch.cuda.get_device_capability() >= (9, 4)


def attention(device, has_flash_attn):
    return "flash_attention_2" if has_flash_attn and device.startswith("cuda") else "sdpa"


def demanded(device: str):
    if not tdev.answers_cuda(device):
        raise ValueError("training runs on CUDA")
    return tdev.zeros(3, device=device)
