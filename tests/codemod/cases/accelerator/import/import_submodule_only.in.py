import torch.cuda

torch.cuda.synchronize()
