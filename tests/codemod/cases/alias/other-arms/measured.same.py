import torch


def dilation(tensor):
    """Pick an engine.

    The rule: CUDA uses ``unfold``, MPS keeps ``shift`` in both cases, measured on an Apple M1.
    """
    if tensor.device.type == "cuda":
        return "unfold"
    return "shift"
