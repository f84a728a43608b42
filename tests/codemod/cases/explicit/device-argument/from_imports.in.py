from torch import device, nn, tensor, zeros

d = device("cuda")
t = tensor([1.0])
z = zeros(3, device="cuda")
