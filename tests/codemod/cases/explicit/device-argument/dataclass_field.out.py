from dataclasses import dataclass

import tdev


@dataclass
class Config:
    device: str = "cuda"
    name: str = "cuda-run"

    def zeros(self, n):
        return tdev.zeros(n, device=self.device)


def make(cfg: Config):
    return tdev.ones(2, device=cfg.device)
