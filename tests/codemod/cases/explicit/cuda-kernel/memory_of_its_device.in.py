import torch


def train(model, data, wanted):
    device = torch.device(
        "cuda" if wanted and torch.cuda.is_available() and torch.version.cuda else "cpu"
    )
    model.to(device)
    torch.cuda.empty_cache()
    fit(model, data)
    print(f"{torch.cuda.max_memory_reserved() / 1e9:.2f} GB")


def free():
    torch.cuda.empty_cache()
    return torch.cuda.max_memory_reserved()
