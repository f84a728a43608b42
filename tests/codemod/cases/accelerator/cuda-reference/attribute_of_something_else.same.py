import torch

self.torch.cuda.synchronize()
ctx.cuda.synchronize()
x = torch.ones(1)
