import torch

from settings import cfg, pl


def train(model, more):
    trainer = pl.Trainer(
        **more,
        accelerator=cfg.accelerator,
        devices="auto" if not torch.cuda.is_available() else cfg.devices,
    )
    return trainer.fit(model)


def choose():
    if cfg.accelerator == "auto":
        if torch.cuda.is_available():
            cfg.accelerator = "cuda"
            cfg.devices = 1
        else:
            cfg.accelerator = "cpu"
            cfg.devices = None


def seeded(seed):
    torch.cuda.manual_seed_all(seed)
