import torch

hooks = [torch.cuda.synchronize, torch.cuda.empty_cache]
timer = make_timer(sync=torch.cuda.synchronize)
x = torch.ones(1)
