import torch

scaler = torch.amp.GradScaler("cuda", enabled=True)
old = torch.cuda.amp.GradScaler()
cpu = torch.amp.GradScaler("cpu")
y = torch.ones(1)
