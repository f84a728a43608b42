import torch
from torch import nn


class Stack(nn.Module):
    def forward(self, hidden):
        if self.model_parallel:
            torch.cuda.set_device(self.first_device)
            self.embed = self.embed.to(self.first_device)
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden)
            if self.model_parallel:
                hidden = hidden.to("cuda:" + str(number + 1))
        return hidden
