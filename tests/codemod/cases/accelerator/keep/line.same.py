import torch

torch.cuda.synchronize()  # tdev: keep
x = torch.zeros(3, device="cuda")  # tdev: keep (measured on CUDA)
y = torch.ones(3)
