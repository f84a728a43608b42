import torch

torch.cuda.synchronize()
eval("torch" + ".zeros(3)")
