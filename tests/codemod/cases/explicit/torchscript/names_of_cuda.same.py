import torch


@torch.jit.script
def mixed(x: torch.Tensor) -> torch.Tensor:
    with torch.autocast(device_type="cuda", enabled=False):
        torch.cuda.synchronize()
        return x


@torch.jit.script
def overlapped(x: torch.Tensor) -> torch.Tensor:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        return x + 1
