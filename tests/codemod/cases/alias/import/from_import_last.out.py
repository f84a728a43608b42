from tdev import nn, optim, cuda

cuda.synchronize()
