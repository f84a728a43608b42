import tdev as torch

x = torch.zeros(3, 4, device="cuda")
y = torch.arange(5, dtype=torch.long, device='cuda:1')
z = torch.ones(3)
