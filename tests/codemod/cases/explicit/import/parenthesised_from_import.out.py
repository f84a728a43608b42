from tdev import cuda  # device
from torch import (
    nn,
    optim,
)

cuda.synchronize()
net = nn.Linear(1, 1)
