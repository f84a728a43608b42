from tdev import (
    nn, cuda,  # both
    device,
    load,
)

cuda.synchronize()
x = load("m.pt")
net = nn.Linear(1, 1)
y: device = None
