import torch

for index in range(torch.cuda.device_count()):
    torch.cuda.synchronize(index)
