import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
other = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.zeros(3, device=device)
y = torch.zeros(3, device=other)
