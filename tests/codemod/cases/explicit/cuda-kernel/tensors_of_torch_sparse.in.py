import torch
from torch_sparse import SparseTensor


def spread(rows, columns, x):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    sums = SparseTensor(row=rows, col=columns).to(device)
    return sums @ x.to(device)


def free():
    torch.cuda.empty_cache()
