import torch

hooks = [torch.accelerator.synchronize, torch.cuda.empty_cache]
timer = make_timer(sync=torch.accelerator.synchronize)
x = torch.ones(1)
