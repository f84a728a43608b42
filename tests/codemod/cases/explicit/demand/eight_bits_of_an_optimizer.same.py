import torch
from pkg.optimizers import optimizer_of


def optimizer(model, config):
    if config.is_8bit and not torch.cuda.is_available():
        raise ValueError("an 8-bit optimizer needs a GPU")
    return optimizer_of(config)(model.parameters())


def paged(model, config):
    if (config.is_paged or config.is_8bit) and (
        not torch.cuda.is_available() or torch.cuda.device_count() == 0
    ):
        raise ValueError("a GPU is needed")
    return optimizer_of(config)(model.parameters())
