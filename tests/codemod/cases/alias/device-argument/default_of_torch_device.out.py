from dataclasses import dataclass

import tdev as torch


def make(n, device: torch.device = torch.device("cuda")):
    return torch.zeros(n, device=device)


@dataclass
class Config:
    device: torch.device = torch.device("cuda")
