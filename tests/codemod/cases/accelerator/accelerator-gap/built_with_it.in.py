import torch


def test_block(block):
    if torch.backends.cuda.is_built():
        device = torch.device("cuda:0")
    else:
        device = torch.device("cpu:0")
    return block.to(device)


def wait():
    torch.cuda.synchronize()
