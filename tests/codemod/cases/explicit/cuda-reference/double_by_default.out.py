import tdev
import torch


def set_up(device=None, bits=32):
    if bits == 64:
        torch.set_default_dtype(torch.float64)
    if device is None:
        if torch.cuda.is_available():
            device = "cuda"
        else:
            device = "cpu"
    tdev.set_default_device(device)


def legacy():
    torch.set_default_tensor_type("torch.cuda.DoubleTensor")
    torch.set_default_tensor_type(torch.cuda.DoubleTensor)
    tdev.cuda.empty_cache()
