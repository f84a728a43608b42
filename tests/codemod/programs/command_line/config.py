from dataclasses import dataclass


@dataclass
class Config:
    hidden: int = 4
    device: str = "cuda:0"
    steps: int = 1
