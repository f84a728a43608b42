import torch

rank = 0
a = torch.accelerator.current_accelerator()
b = torch.device(a.type, rank)
c = torch.device(f"{a.type}:{rank}")
d = torch.device(f"{a.type}:{rank}")
e = torch.device(f"{a.type}:1")
