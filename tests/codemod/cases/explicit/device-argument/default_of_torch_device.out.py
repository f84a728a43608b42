from dataclasses import dataclass

import tdev
import torch


def make(n, device: torch.device = tdev.device("cuda")):
    return torch.zeros(n, device=device)


@dataclass
class Config:
    device: torch.device = tdev.device("cuda")
