import io

import torch


def clone(module):
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


def read(path):
    return torch.load(path).numpy()


def given(buffer):
    return torch.load(buffer)
