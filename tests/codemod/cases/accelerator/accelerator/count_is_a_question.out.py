import torch

device = torch.accelerator.current_accelerator().type if torch.accelerator.device_count() > 0 else "cpu"
second = torch.device(f"{torch.accelerator.current_accelerator().type}:1" if torch.accelerator.device_count() >= 2 else "cpu")
