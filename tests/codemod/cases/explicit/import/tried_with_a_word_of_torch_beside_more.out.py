import sys

try:
    import torch
    from torch.nn.functional import softmax
except ImportError:
    print("please install torch first")
    sys.exit(1)
import tdev

try:
    import json
except ImportError:
    raise ImportError("json is not installed")


def score(ids, device: str = "cpu"):
    return softmax(tdev.tensor(ids, device=device), dim=-1)


def later():
    try:
        import torch
    except ImportError:
        raise RuntimeError("this needs PyTorch")
    import tdev

    return tdev.zeros(1, device="cuda")
