import torch

device = "cuda" if torch.cuda.device_count() > 0 else "cpu"
second = torch.device("cuda:1" if torch.cuda.device_count() >= 2 else "cpu")
