import torch.cuda

torch.accelerator.synchronize()
