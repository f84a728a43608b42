import torch

torch.cuda.init()
torch.cuda._lazy_init()
torch._C._cuda_getDevice()
