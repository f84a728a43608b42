from torch import nn, optim, cuda

cuda.synchronize()
