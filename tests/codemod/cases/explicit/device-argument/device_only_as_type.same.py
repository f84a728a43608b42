import torch

def move(x: torch.Tensor, device: "torch.device") -> torch.Tensor:
    assert isinstance(device, (str, torch.device))
    return torch.zeros(3, device=device) + x.to(device)
