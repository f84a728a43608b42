import torch

TYPES = [torch.tensor(1, dtype=torch.float64)]
if torch.cuda.is_available():
    GENERATOR = torch.Generator("cuda")
    TYPES.append(torch.tensor(1, dtype=torch.float32, device="cuda"))
    TYPES.append(torch.tensor(1, dtype=torch.float64, device="cuda"))
