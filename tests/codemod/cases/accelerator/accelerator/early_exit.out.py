import torch


def main():
    if not torch.accelerator.is_available():
        return
    x = torch.zeros(3).to(torch.accelerator.current_accelerator())
    with torch.autocast(torch.accelerator.current_accelerator().type):
        x = x @ x
    torch.accelerator.empty_cache()
    torch.accelerator.synchronize()
