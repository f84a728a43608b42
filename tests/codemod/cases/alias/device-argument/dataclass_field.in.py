from dataclasses import dataclass

import torch


@dataclass
class Config:
    device: str = "cuda"
    name: str = "cuda-run"

    def zeros(self, n):
        return torch.zeros(n, device=self.device)


def make(cfg: Config):
    return torch.ones(2, device=cfg.device)
