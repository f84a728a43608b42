import torch


def devices():
    if torch.accelerator.is_available():
        x = torch.zeros(1, device=torch.accelerator.current_accelerator())
        d = torch.accelerator.current_accelerator()
        with torch.autocast(d.type):
            return x.to(d), d, torch.device(f"{d.type}:0")
    return torch.zeros(1)


def move(model, batch):
    index = torch.accelerator.current_device_index()
    model.to(torch.accelerator.current_device_index())
    return batch.to(index, non_blocking=True)
