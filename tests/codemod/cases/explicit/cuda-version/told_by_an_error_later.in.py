import torch

from .errors import BuildError


class Missing:
    def __getattr__(self, name):
        message = (
            f"{name} is not there. Check that a driver "
            f"for CUDA {torch.version.cuda} is installed."
        )
        raise BuildError(message)


def folder(base):
    version = f"cu{torch.version.cuda}"
    return base / version


def clear():
    torch.cuda.empty_cache()
