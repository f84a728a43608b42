import torch

x = torch.ones(1)
del torch
torch = load_plugin()
torch.cuda.synchronize()
