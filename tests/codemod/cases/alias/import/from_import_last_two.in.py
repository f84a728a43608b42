from torch import nn, load, cuda

cuda.synchronize()
x = load("m.pt")
