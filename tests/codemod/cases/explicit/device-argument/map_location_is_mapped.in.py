import torch

rank = 1
state = torch.load("m.pt", map_location={"cuda:%d" % 0: "cuda:%d" % rank})
fine = torch.load("m.pt", map_location={"cuda:0": "cpu"})
