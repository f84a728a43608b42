from tdev import cuda, device
from torch import nn, optim

d = device("cuda")
cuda.synchronize()
