import torch


def main():
    if not torch.accelerator.is_available():
        return
    device = torch.accelerator.current_accelerator()
    x = torch.zeros(3).to(device)
    with torch.autocast(device.type):
        x = x @ x
    torch.accelerator.empty_cache()
    torch.accelerator.synchronize()
