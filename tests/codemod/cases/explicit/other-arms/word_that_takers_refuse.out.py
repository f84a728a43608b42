import pytorch_lightning as pl
import tdev
import torch
from lightning import Fabric
from pytorch_lightning import Trainer as Base
from ray import tune
from vllm import LLM


def several(model):
    return pl.Trainer(
        accelerator="cuda" if torch.cuda.is_available() else "cpu",
        devices=1 if torch.cuda.is_available() else "auto",
    ).fit(model)


def by_number(model, options):
    gpus = 1 if torch.cuda.is_available() else 0
    gpus = options.get("gpus", gpus)
    return pl.Trainer(gpus=gpus, max_epochs=-1).predict(model)


def resources(trainable):
    return tune.with_resources(trainable, {"gpu": 1 if torch.cuda.is_available() else 0})


class Trainer(Base):
    def __init__(self, *args, **kwargs):
        if torch.cuda.is_available():
            kwargs["gpus"] = -1
            kwargs["fast_dev_run"] = False
        else:
            kwargs["fast_dev_run"] = True
        super().__init__(*args, **kwargs)


def settings(config, model):
    config.WHERE = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(config.WHERE)
    return pl.Trainer(accelerator=config.WHERE)


def _kind():
    return "cuda" if torch.cuda.is_available() else "cpu"


def by_result():
    return Fabric(accelerator=_kind())


def build(where):
    return Fabric(accelerator=where, devices=1)


def by_parameter():
    return build("cuda" if torch.cuda.is_available() else "cpu")


def engine(name):
    return LLM(name, tensor_parallel_size=torch.cuda.device_count())


def own(model):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    print(f"{device=}")
    return model.to(device)
