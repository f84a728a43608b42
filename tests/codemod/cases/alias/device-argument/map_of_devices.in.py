import torch

devices = list(map(torch.device, ["cuda:0", "cuda:1"]))
types = [torch.device]
