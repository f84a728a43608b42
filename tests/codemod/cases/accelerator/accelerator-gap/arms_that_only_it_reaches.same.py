import torch


def place(model, device, is_cuda_available):
    if device.type == "cuda":
        model.cuda(torch.cuda.current_device())
        torch.cuda.empty_cache()
    if is_cuda_available():
        return torch.cuda.current_device()
    elif torch.xpu.is_available():
        return torch.xpu.current_device()
    return None


class CUDAAccelerator:
    def setup(self, device):
        torch.cuda.set_device(device)


def is_cuda_available():
    available = torch.cuda.is_available()
    return available
