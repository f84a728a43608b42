import tdev
import torch


def train(model, ddp):
    if not ddp and torch.cuda.device_count() > 1:
        # keeps Trainer from replicating the model
        model.is_parallelizable = True
        model.model_parallel = True
    return model


def spread(model):
    if tdev.cuda.device_count() > 1:
        model.model_parallel = True
        model.cuda()
    return model
