import torch


def f(device, x: torch.Tensor):
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    if device.type == "cuda":
        torch.cuda.synchronize()
        print(torch.cuda.get_device_name())
    return dtype, x.is_cuda
