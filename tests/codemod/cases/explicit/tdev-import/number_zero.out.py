import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
import torch

layer = torch.nn.Linear(2, 2).to(0)
x = torch.ones(1, 2).to(device=0)
y = layer(x)
