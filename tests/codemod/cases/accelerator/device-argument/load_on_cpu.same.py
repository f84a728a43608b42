import torch

state = torch.load("cuda.pt", map_location="cpu", weights_only=True)
torch.save(state, "out_cuda.pt")
