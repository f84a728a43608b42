import torch

torch.cuda.manual_seed_all(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
