import tdev
import torch

hooks = [tdev.cuda.synchronize, tdev.cuda.empty_cache]
timer = make_timer(sync=tdev.cuda.synchronize)
x = torch.ones(1)
