import math

try:
    import torch
except ImportError as error:
    raise ImportError("torch is not installed") from error
import tdev


def place(name):
    return "cuda" if tdev.cuda.is_available() else name
