import torch


def load(path, model, rank):
    torch.load(path, map_location=f"{torch.accelerator.current_accelerator().type}:{rank}")
    torch.load(path, map_location=f"{torch.accelerator.current_accelerator().type}:{rank}")
    torch.load(path, map_location=f"{torch.accelerator.current_accelerator().type}:{rank}")
    model.to(f"{torch.accelerator.current_accelerator().type}:{rank}")
    if torch.accelerator.is_available():
        first = f"{torch.accelerator.current_accelerator().type}:{rank}"
        second = f"{torch.accelerator.current_accelerator().type}:{rank}"
        return first, second
    return [f"{torch.accelerator.current_accelerator().type}:{i}" for i in range(torch.accelerator.device_count())]


def every(model):
    for i in range(torch.accelerator.device_count()):
        device = f"{torch.accelerator.current_accelerator().type}:{i}"
        model.to(device)
    return [f"{torch.accelerator.current_accelerator().type}:{i}" for i in range(torch.accelerator.device_count())]
