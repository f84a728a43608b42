import tdev
import torch
from torch import nn

model = nn.Linear(8, 8)
if tdev.cuda.is_available():
    model = torch.compile(model)
model.to("cuda" if tdev.cuda.is_available() else "cpu")
