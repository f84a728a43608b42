# tdev: keep
import torch

torch.cuda.synchronize()
x.is_cuda
