import torch

device = torch.device(
    torch.accelerator.current_accelerator().type  # the first one
    if torch.accelerator.is_available()
    else "cpu"
)
y = torch.zeros(3, device=device)
