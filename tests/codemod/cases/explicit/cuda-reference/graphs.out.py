import tdev
import torch

g = tdev.cuda.CUDAGraph()
with tdev.cuda.graph(g):
    y = torch.matmul(a, b)
g.replay()
