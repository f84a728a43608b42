import torch

from .model import build

model = build(torch.ones(1), device="cuda")
trainer = Trainer(accelerator="cuda", device="cpu")
