import torch

x = torch.zeros(3)
if torch.cuda.is_available():
    import torch
    x = torch.zeros(3, device="cuda")  # on the device, where there is one at all
torch.cuda.synchronize()
