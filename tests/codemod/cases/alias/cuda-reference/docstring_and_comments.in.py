# torch.cuda.synchronize() is called below
"""Uses torch.cuda."""

import torch  # the framework

x = torch.ones(1)
torch.cuda.synchronize()  # torch.cuda, not tdev
message = "torch.cuda.synchronize failed"
