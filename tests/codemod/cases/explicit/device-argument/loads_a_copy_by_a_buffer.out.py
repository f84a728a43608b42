import io
from io import BytesIO

import tdev
import torch


def copied(model, args):
    traced = torch.jit.trace(model, args)
    with BytesIO() as buffer:
        torch.jit.save(traced, buffer)
        buffer.seek(0)
        traced = torch.jit.load(buffer)
    return traced


def received(model, sent):
    buffer = io.BytesIO(sent)
    torch.jit.save(model, "kept.pt")
    return tdev.jit.load(buffer)
