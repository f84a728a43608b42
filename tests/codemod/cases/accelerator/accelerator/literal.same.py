import torch

x = torch.zeros(3, 4, device="cuda")
y = torch.arange(5, dtype=torch.long, device='cuda:1')
z = x.to("cuda", non_blocking=True)
w = x.new_zeros(3, device="cuda")
