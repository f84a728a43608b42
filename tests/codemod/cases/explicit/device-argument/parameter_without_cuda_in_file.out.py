import tdev

def grid(n, device):
    return tdev.arange(n, device=device)
