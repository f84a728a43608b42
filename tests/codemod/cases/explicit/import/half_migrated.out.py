import tdev
import torch

tdev.cuda.synchronize()
tdev.cuda.empty_cache()
y = torch.ones(1)
