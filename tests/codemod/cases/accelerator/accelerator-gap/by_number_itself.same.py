import torch


def run(model, x):
    model = model.cuda()
    return model(x.to(0))
