from tdev import load, cuda
from torch import nn

cuda.synchronize()
x = load("m.pt")
