import click
import torch


def backends(console):
    for backend in [torch.cuda, torch.backends.mkl, torch.backends.mps]:
        console.print(backend.__name__, backend.is_available())
    if torch.cuda.is_available():
        console.print(torch.cuda.get_device_name())
