import tdev
import torch

scaler = tdev.amp.GradScaler("cuda", enabled=True)
old = tdev.cuda.amp.GradScaler()
cpu = torch.amp.GradScaler("cpu")
y = torch.ones(1)
