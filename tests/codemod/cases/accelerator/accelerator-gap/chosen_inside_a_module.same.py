import torch
from torch import nn


class Head(nn.Module):
    def forward(self, words):
        none = torch.zeros(words.shape[-1])
        none = none.to("cuda" if torch.cuda.is_available() else "cpu")
        return torch.cat([words, none.unsqueeze(0)])
