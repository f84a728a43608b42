import torch


@torch.cuda.amp.autocast()
def step(x, stream=torch.cuda.current_stream, n=torch.ones(1)):
    return x


@torch.no_grad()
def other(x):
    return x
