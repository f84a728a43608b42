import torch  # torch of the environment
from torch import nn

torch.cuda.synchronize()  # not torch.cpu
layer = nn.Linear(2, 2)
