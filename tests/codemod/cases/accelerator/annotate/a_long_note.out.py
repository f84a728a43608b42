import torch

x = torch.zeros(3)
# tdev: accelerator-gap: what stands outside functions (lines 1 to 7) is left whole: line 6 would be longer than 79 columns; break it by hand
if torch.cuda.is_available():
    import torch
    x = torch.zeros(3, device="cuda")  # on the device, where there is one at all
torch.cuda.synchronize()
