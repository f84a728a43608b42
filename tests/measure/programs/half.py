"""Computes the loss of a language model in float16, of more tokens than their sum has room for there."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
words, length, batch = 1000, 512, 24
model = nn.Sequential(nn.Embedding(words, 16), nn.Linear(16, words)).cuda().half()
text = torch.randint(0, words, (batch, length + 1)).cuda()
logits = model(text[:, :-1])
loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
print(loss.item())
