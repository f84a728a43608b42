import torch

if torch.accelerator.is_available():
    torch.accelerator.synchronize()
    device = torch.accelerator.current_accelerator()
    x = torch.ones(1, device=device)
# was torch.cuda before
