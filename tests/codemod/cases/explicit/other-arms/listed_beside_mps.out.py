import click
import tdev
import torch


def backends(console):
    for backend in [torch.cuda, torch.backends.mkl, torch.backends.mps]:
        console.print(backend.__name__, backend.is_available())
    if tdev.cuda.is_available():
        console.print(tdev.cuda.get_device_name())
