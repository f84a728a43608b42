import torch


def shifted(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda and x.device.type == "cuda":
        return x + 1
    return x.to("cuda")


@torch.jit.script
def with_noise(x: torch.Tensor) -> torch.Tensor:
    return shifted(x) + torch.zeros(2, device="cuda")


@torch.jit.script
def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1.0 + torch.erf(x / 1.41421))


def moved(x: torch.Tensor, device: str) -> torch.Tensor:
    if not torch.jit.is_scripting():
        torch.cuda.synchronize()
    return x.to(device)


def plain(x: torch.Tensor) -> torch.Tensor:
    return x + 1 if x.is_cuda else x


scripted = torch.jit.script(moved)
print(with_noise(torch.ones(2).cuda()), gelu(torch.ones(2)), scripted(torch.ones(2), "cuda"))
