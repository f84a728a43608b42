import tdev  # torch of the environment
from torch import nn

tdev.cuda.synchronize()  # not torch.cpu
layer = nn.Linear(2, 2)
