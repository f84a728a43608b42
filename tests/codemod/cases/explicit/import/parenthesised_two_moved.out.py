from tdev import cuda, load
from torch import (
    nn,  # both
    device,
)

cuda.synchronize()
x = load("m.pt")
net = nn.Linear(1, 1)
y: device = None
