import tdev
import torch

tdev.cuda.synchronize()
torch.cuda.empty_cache()
y = torch.ones(1)
