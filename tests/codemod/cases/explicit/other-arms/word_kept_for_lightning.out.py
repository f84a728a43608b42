import pytorch_lightning as pl
import tdev
import torch


def infer(model, loader, conf):
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    return pl.Trainer(accelerator=accelerator, max_epochs=-1).predict(model, loader)


def infer_by_parts(model, loader):
    if torch.cuda.is_available():
        accelerator = "cuda"
        devices = 1
    else:
        accelerator = "cpu"
        devices = 1
    return pl.Trainer(accelerator=accelerator, devices=devices).predict(model, loader)


def clear():
    tdev.cuda.empty_cache()
