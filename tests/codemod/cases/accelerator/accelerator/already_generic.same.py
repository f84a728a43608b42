import torch

device = torch.accelerator.current_accelerator()
torch.accelerator.synchronize()
x = torch.ones(1).to(device)
