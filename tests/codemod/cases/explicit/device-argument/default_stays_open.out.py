from dataclasses import dataclass

import tdev
import torch


def make(n, device: torch.device = torch.device("cuda")):
    return tdev.zeros(n, device=device)


@dataclass
class Config:
    device: torch.device = torch.device("cuda")
