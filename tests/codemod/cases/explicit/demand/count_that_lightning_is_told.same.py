import torch
from pytorch_lightning import Trainer


def main(model):
    if not torch.cuda.is_available():
        raise RuntimeError("a GPU is needed")
    trainer = Trainer(accelerator="gpu", devices=torch.cuda.device_count())
    trainer.fit(model)


def again(model):
    assert torch.cuda.device_count() > 0
    fit(model)


def fit(model):
    count = torch.cuda.device_count()
    Trainer(gpus=count).fit(model)
