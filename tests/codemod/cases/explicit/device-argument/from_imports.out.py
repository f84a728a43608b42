from tdev import device, zeros
from torch import nn, tensor

d = device("cuda")
t = tensor([1.0])
z = zeros(3, device="cuda")
