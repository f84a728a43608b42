import torch

if torch.accelerator.is_available():
    device = f"{torch.accelerator.current_accelerator().type}:0"
    torch.accelerator.set_device_index(0)
else:
    device = "cpu"
x = torch.ones(3)
