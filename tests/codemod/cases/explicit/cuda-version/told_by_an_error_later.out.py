import tdev
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
    version = f"cu{tdev.version.cuda}"
    return base / version


def clear():
    tdev.cuda.empty_cache()
