# torch.cuda.synchronize() is called below
"""Uses torch.cuda."""

import tdev
import torch  # the framework

x = torch.ones(1)
tdev.cuda.synchronize()  # torch.cuda, not tdev
message = "torch.cuda.synchronize failed"
