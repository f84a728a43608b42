try:
    import tdev
    import torch
except ImportError:
    torch = None

try:
    import tdev
    import torch as th

    WHERE = tdev.device("cuda")
except ImportError:
    raise ImportError("torch is not installed")


def place(n):
    return tdev.zeros(n, device="cuda"), th.ones(n, device=WHERE)
