try:
    import torch
except ImportError:
    torch = None

try:
    import torch as th

    WHERE = th.device("cuda")
except ImportError:
    raise ImportError("torch is not installed")


def place(n):
    return torch.zeros(n, device="cuda"), th.ones(n, device=WHERE)
