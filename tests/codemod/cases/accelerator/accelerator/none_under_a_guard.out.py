import torch

if torch.accelerator.is_available():
    model = torch.nn.Linear(2, 2, device="meta")
    model.to_empty(device=torch.accelerator.current_accelerator())
    with torch.accelerator.current_accelerator():
        x = torch.zeros(3)
    torch.accelerator.empty_cache()
