import torch


def main(model):
    if not torch.cuda.is_available() or torch.cuda.device_count() == 0:
        raise RuntimeError("a GPU is needed")
    return model.cuda()


def train(model, rank):
    if rank > 0 and (
        not torch.cuda.is_available() or not torch.cuda.device_count()
    ):
        raise RuntimeError("a GPU is needed")
    return model.cuda()


def check(model):
    assert torch.cuda.is_available() and torch.cuda.device_count() > 0, "a GPU is needed"
    return model.cuda()


def check_alone(model):
    assert torch.cuda.is_available() and model.trained, "a GPU is needed"
    return model.cuda()
