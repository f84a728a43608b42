import torch
from lightning import Trainer


def choose(cfg):
    if torch.cuda.is_available():
        cfg.accelerator = "cuda"
        cfg.devices = 1
    else:
        cfg.accelerator = "cpu"


def trainer(cfg):
    return Trainer(
        accelerator=cfg.accelerator,
        devices="auto" if not torch.cuda.is_available() else cfg.devices,
    )


def free():
    torch.cuda.empty_cache()
