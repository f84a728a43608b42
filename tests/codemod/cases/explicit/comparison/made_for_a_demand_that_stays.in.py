import torch
from runners import compiled_runner


def trainer(model, device: str, compiled: bool):
    own = next(model.parameters()).device
    target = torch.device(device) if device is not None else own
    if compiled and (own.type != "cuda" or target.type != "cuda"):
        raise RuntimeError("Compiled training requires CUDA.")
    return compiled_runner(model) if compiled else model


def moved(model, device: str, compiled: bool):
    target = torch.device(device)
    if compiled and target.type != "cuda":
        raise RuntimeError("Compiled training requires CUDA.")
    model = compiled_runner(model) if compiled else model
    return model.to(target)
