import torch

x = torch.zeros(3)
# tdev: accelerator-gap: torch.cuda.is_available decides about what only CUDA has; left as it is, with what it decides about
if torch.cuda.is_available():
    import torch
    # tdev: accelerator-gap: a line would be longer than 79 columns; break it by hand
    x = torch.zeros(3, device="cuda")  # on the device, where there is one at all
torch.accelerator.synchronize()
