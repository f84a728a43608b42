import torch


def first(model, rank):
    accelerator = torch.accelerator.current_accelerator()
    if torch.accelerator.is_available():
        one = f"{accelerator.type}:{rank}"
        two = f"{accelerator.type}:{rank}"
        three = f"{accelerator.type}:{rank}"
        return (
            model.to(one),
            torch.device(accelerator.type, rank),
            torch.device(f"{accelerator.type}:{rank}"),
            two,
            three,
        )
    return [f"{accelerator.type}:{i}" for i in range(torch.accelerator.device_count())]


def every(model):
    accelerator = torch.accelerator.current_accelerator()
    for i in range(torch.accelerator.device_count()):
        device = f"{accelerator.type}:{i}"
        model.to(device)
    return [f"{accelerator.type}:{i}" for i in range(torch.accelerator.device_count())]
