import torch


def load(path, model, rank):
    accelerator = torch.accelerator.current_accelerator()
    torch.load(path, map_location=f"{accelerator.type}:{rank}")
    torch.load(path, map_location=f"{accelerator.type}:{rank}")
    torch.load(path, map_location=f"{accelerator.type}:{rank}")
    model.to(f"{accelerator.type}:{rank}")
    if torch.accelerator.is_available():
        first = f"{accelerator.type}:{rank}"
        second = f"{accelerator.type}:{rank}"
        return first, second
    return [
        f"{accelerator.type}:{i}"
        for i in range(torch.accelerator.device_count())
    ]


def every(model):
    accelerator = torch.accelerator.current_accelerator()
    for i in range(torch.accelerator.device_count()):
        device = f"{accelerator.type}:{i}"
        model.to(device)
    return [
        f"{accelerator.type}:{i}"
        for i in range(torch.accelerator.device_count())
    ]
