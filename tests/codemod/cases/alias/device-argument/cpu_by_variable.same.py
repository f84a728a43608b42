import torch

CPU = "cpu"
HOST = torch.device("cpu")
x = torch.ones(1, device=CPU) + torch.ones(1, device=HOST)
