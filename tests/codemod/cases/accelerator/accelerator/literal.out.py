import torch

device = torch.accelerator.current_accelerator()
x = torch.zeros(3, 4, device=device)
y = torch.arange(5, dtype=torch.long, device=f'{device.type}:1')
z = x.to(device, non_blocking=True)
w = x.new_zeros(3, device=device)
