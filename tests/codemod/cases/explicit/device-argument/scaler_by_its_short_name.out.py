import tdev
import torch

scaler = tdev.GradScaler("cuda")
other = tdev.GradScaler()
never = torch.GradScaler(enabled=False)
cpus = torch.GradScaler("cpu")
