import torch

device = torch.device(
    "cuda"  # the first one
    if torch.cuda.is_available()
    else "cpu"
)
y = torch.zeros(3, device=device)
