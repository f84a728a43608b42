import tdev
import torch

g = torch.Generator(device="cuda")
p = tdev.randperm(10, generator=g, device="cuda")
h = torch.Generator("cuda")
