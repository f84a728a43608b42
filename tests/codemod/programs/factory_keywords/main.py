import torch

from blocks import Stack

OPTIONS = {"device": "cuda", "dtype": torch.float32}


def run(device="cuda"):
    stack = Stack(4, **OPTIONS)
    x = stack.embed(torch.tensor([0, 1, 2], device=device))
    print(tuple(x.shape), x.sum().item(), stack.mask(3).sum().item())
    print(stack.tokens(2, device=device).tolist())


run()
