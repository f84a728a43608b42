import torch

for index in range(torch.accelerator.device_count()):
    torch.accelerator.synchronize(index)
