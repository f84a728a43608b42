import torch
import intel_extension_for_pytorch as ipex


def check_device(device):
    return isinstance(device, torch.device) and device.type == "cuda" or "cuda" in str(device)


def hijack():
    torch.cuda.is_available = lambda: True
    torch.cuda.amp.GradScaler = ipex.cpu.autocast.GradScaler
    torch.empty = lambda *size, device=None: torch.zeros(*size, device=device)
