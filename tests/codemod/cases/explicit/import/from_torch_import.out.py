from tdev import cuda
from torch import nn

net = nn.Linear(2, 2)
if cuda.is_available():
    cuda.synchronize()
