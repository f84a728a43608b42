import torch

try:
    import DeformableOperators as operators
except ImportError as error:
    message = "DeformableOperators is not there. Compile it first: it works with CUDA only."
    raise ImportError(message) from error


def attend(value, places):
    return operators.forward(value.cuda(), places.to("cuda"))
