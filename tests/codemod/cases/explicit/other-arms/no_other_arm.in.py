import torch

if torch.cuda.is_available():
    x = torch.ones(1)
else:
    x = None
n = torch.cuda.device_count() if torch.cuda.is_available() else 1
