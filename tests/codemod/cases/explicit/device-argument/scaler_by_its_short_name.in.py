import torch

scaler = torch.GradScaler("cuda")
other = torch.GradScaler()
never = torch.GradScaler(enabled=False)
cpus = torch.GradScaler("cpu")
