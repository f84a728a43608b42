import torch

g = torch.Generator()
h: torch.Generator = torch.Generator(device="cpu")
print(isinstance(g, torch.Generator), "cuda")
