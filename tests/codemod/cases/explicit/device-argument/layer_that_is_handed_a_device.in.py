import torch


class Rotary(torch.nn.Module):
    def forward(self, length, device):
        return torch.arange(length, device=device)


class Table(torch.nn.Module):
    def forward(self, length, device="cuda"):
        return torch.arange(length, device=device)


class Positions(torch.nn.Module):
    def forward(self, length, device: str):
        return torch.arange(length, device=device)
