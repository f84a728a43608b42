import torch


class Block(torch.nn.Module):
    def forward(self, x):
        mask = torch.ones(3, device=self.device)
        return x * mask.to(self.weight.device)
