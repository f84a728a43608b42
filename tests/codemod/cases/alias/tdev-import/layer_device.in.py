import torch
from torch import nn

layer = nn.Linear(4, 4, device="cuda")
x = torch.ones(4).new_zeros(4, device="cuda:0")
