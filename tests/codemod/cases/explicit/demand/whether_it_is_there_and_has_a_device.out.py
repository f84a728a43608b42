import tdev
import torch


def main(model):
    if not tdev.answers_cuda():
        raise RuntimeError("a GPU is needed")
    return model.cuda()


def train(model, rank):
    if rank > 0 and (
        not tdev.answers_cuda()
    ):
        raise RuntimeError("a GPU is needed")
    return model.cuda()


def check(model):
    assert tdev.answers_cuda(), "a GPU is needed"
    return model.cuda()


def check_alone(model):
    assert tdev.answers_cuda() and model.trained, "a GPU is needed"
    return model.cuda()
