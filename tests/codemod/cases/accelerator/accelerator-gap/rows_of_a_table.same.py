import torch

RUNS = [("cpu", 1)]
if torch.cuda.is_available():
    RUNS.append(("cuda", 2))


def run(engines, device):
    return engines[0] if device == "cuda" else engines[1]
