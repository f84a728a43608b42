from tdev import cuda
from torch import nn, optim

cuda.synchronize()
