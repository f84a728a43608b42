import torch

def pick():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")

def name():
    return "cuda"

x = torch.zeros(3, device=pick())
y = torch.zeros(3, device=name())
