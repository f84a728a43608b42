import torch

if torch.cuda.is_available():
    model = torch.nn.Linear(2, 2, device="meta")
    model.to_empty(device="cuda")
    with torch.device("cuda"):
        x = torch.zeros(3)
    torch.cuda.empty_cache()
