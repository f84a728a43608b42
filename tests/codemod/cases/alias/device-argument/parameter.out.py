import tdev as torch

def grid(n, device):
    return torch.arange(n, device=device)

def default(n, device="cuda"):
    return torch.arange(n, device=device), f"on {device}"

def annotated(n, device: str = "cuda"):
    return torch.arange(n, device=device)

def optional(n, device: "torch.device | None" = None):
    return torch.arange(n, device=device)
