from torch import cuda, nn

net = nn.Linear(2, 2)
if cuda.is_available():
    cuda.synchronize()
