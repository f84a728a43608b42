import tdev
import torch

a = tdev.load("/data/cuda_runs/m.pt")
b = torch.load("m.pt", map_location="cpu")
c = tdev.load("m.pt", map_location="cuda:0")
d = tdev.load("m.pt", map_location={"cuda:1": "cuda:0"})
e = torch.load("m.pt", map_location=lambda storage, loc: storage)
f = tdev.load("m.pt", map_location=lambda storage, loc: storage.cuda(0))
g = torch.load("m.pt", map_location=torch.device("cpu"))
h = torch.load("m.pt", "cpu", weights_only=True)
