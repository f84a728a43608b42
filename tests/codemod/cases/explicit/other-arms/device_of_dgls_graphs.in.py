import torch
from package import Graph


def device():
    if torch.cuda.is_available():
        found = torch.device("cuda")
    else:
        found = torch.device("cpu")
    return found


def graphs(atoms):
    return [Graph.atom_dgl_multigraph(each).to(device()) for each in atoms]


def free():
    torch.cuda.empty_cache()
