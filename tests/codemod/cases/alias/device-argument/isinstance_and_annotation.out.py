import tdev as torch

def move(x, device: torch.device = torch.device("cuda")):
    if isinstance(device, torch.device):
        return x.to(device)
    return x
