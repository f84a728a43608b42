import torch

g = torch.Generator(device="cuda")
p = torch.randperm(10, generator=g, device="cuda")
h = torch.Generator("cuda")
s = torch.Stream(device="cuda")
e = torch.Event("cuda")
