import torch

x = torch.zeros(3, 4, device=torch.accelerator.current_accelerator())
y = torch.arange(5, dtype=torch.long, device=f"{torch.accelerator.current_accelerator().type}:1")
z = x.to(torch.accelerator.current_accelerator(), non_blocking=True)
w = x.new_zeros(3, device=torch.accelerator.current_accelerator())
