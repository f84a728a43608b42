from torch import nn, cuda, optim, device

d = device("cuda")
cuda.synchronize()
