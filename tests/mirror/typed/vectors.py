# ruff: noqa
import torch
from torch.func import grad, vmap


def energy(x: torch.Tensor) -> torch.Tensor:
    return torch.einsum("i,i->", x, x) + torch.linalg.norm(x) + torch.fft.fft(x).abs().sum()


forces = vmap(grad(energy))(torch.randn(4, 3, generator=torch.Generator().manual_seed(0)))
values, indices = torch.topk(forces, 2)
reveal_type(torch.topk(forces, 2))
reveal_type(torch.zeros_like(forces, device="cuda"))
torch.zeros((2,), devise="cuda")
half: torch.HalfTensor = forces.half()
torch.cat(forces, dim="0")
