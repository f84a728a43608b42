import torch


def devices():
    if torch.accelerator.is_available():
        x = torch.zeros(1, device=torch.accelerator.current_accelerator())
        d = torch.accelerator.current_accelerator()
        with torch.autocast(torch.accelerator.current_accelerator().type):
            return x.to(torch.accelerator.current_accelerator()), d, torch.device(f"{torch.accelerator.current_accelerator().type}:0")
    return torch.zeros(1)


def move(model, batch):
    index = torch.accelerator.current_device_index()
    model.to(torch.accelerator.current_device_index())
    return batch.to(index, non_blocking=True)
