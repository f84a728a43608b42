import torch

torch.mps.empty_cache()
torch.xpu.synchronize()
torch.backends.cudnn.benchmark = True
torch.backends.cuda.matmul.allow_tf32 = True
