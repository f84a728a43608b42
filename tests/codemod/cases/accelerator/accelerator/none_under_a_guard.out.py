import torch

if torch.accelerator.is_available():
    model = torch.nn.Linear(2, 2, device="meta")
    device = torch.accelerator.current_accelerator()
    model.to_empty(device=device)
    with device:
        x = torch.zeros(3)
    torch.accelerator.empty_cache()
