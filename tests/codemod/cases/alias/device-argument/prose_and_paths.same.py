"""Train on CUDA: device="cuda" is assumed."""
import torch

# x = torch.zeros(3, device="cuda")
HELP = "pass --device cuda:0 to use torch.cuda"
CACHE = "/data/cuda_runs/cuda"
x = torch.load(CACHE + "/m.pt", map_location="cpu")
