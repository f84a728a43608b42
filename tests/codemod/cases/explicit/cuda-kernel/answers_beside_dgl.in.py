import dgl
import torch

IS_CUDA = torch.cuda.is_available()
USE_GPU = torch.cuda.is_available()
device = "cuda" if USE_GPU else "cpu"


def stream():
    return torch.cuda.Stream() if IS_CUDA else None


def graph(rows, columns):
    return dgl.graph((rows, columns)).to(device)
