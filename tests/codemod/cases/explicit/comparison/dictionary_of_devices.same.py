import torch

OTHERS = {}
BACKENDS = {"cuda": "nccl", "mps": "gloo", "cpu": "gloo"}
WHOLE = {"cpu": 0, "cuda": 1, "mps": 2, "mlx": 3}
WHEELS = {"cuda": "12.4", "python": "3.11"}
ALONE = {"cuda": 1}


def f(device):
    table = {"cuda": 1, "cpu": 2}
    more = {**OTHERS, "cuda": 1, "cpu": 2}
    return table[device.type], table.get("cuda"), more[device.type], torch.ones(1)
