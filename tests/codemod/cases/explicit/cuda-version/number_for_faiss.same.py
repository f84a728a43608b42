import faiss
import torch


def nearest(index, on_gpu):
    if on_gpu:
        return 1024 if float(torch.version.cuda) < 9.5 else 2048
    return index
