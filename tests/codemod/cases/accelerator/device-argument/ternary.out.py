import torch

accelerator = torch.accelerator.current_accelerator()
device = accelerator.type if torch.accelerator.is_available() else "cpu"
other = torch.device(
    accelerator.type if torch.accelerator.is_available() else "cpu"
)
x = torch.zeros(3, device=device)
y = torch.zeros(3, device=other)
