import torch
from torch import nn

model = nn.Linear(8, 8)
if torch.cuda.is_available():
    model = torch.compile(model)
model.to("cuda" if torch.cuda.is_available() else "cpu")
