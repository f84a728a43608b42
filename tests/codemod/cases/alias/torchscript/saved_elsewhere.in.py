import torch
from models import build


def exported(path):
    script = torch.jit.script(build())
    torch.jit.save(script, path)


def used(x):
    return torch.zeros(3, device="cuda") + x
