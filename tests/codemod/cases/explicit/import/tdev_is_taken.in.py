import torch

tdev = "test device"
torch.cuda.synchronize()
print(tdev, torch.ones(1))
