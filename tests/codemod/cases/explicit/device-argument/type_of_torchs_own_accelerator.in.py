import torch


def placed(model: torch.nn.Module, index: int, word: str):
    kind = torch.accelerator.current_accelerator().type
    first = torch.zeros(2, device=f"{kind}:{index}")
    second = torch.zeros(2, device=kind + ":0")
    third = torch.zeros(2, device=f"{word}:{index}")
    return model.to(torch.device(f"{kind}:{index}")), first, second, third
