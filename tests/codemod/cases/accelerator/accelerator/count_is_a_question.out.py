import torch

accelerator = torch.accelerator.current_accelerator()
device = accelerator.type if torch.accelerator.device_count() > 0 else "cpu"
second = torch.device(
    f"{accelerator.type}:1" if torch.accelerator.device_count() >= 2 else "cpu"
)
