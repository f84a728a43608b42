import torch
from transformers import AutoModel


def load(name, rank):
    a = AutoModel.from_pretrained(name, device_map={"": "cuda" if torch.cuda.is_available() else "cpu"})
    b = AutoModel.from_pretrained(name, device_map={"": "cuda:" + str(rank)})
    c = AutoModel.from_pretrained(name, device_map={"": "cuda:0", "x": f"cuda:{rank}"})
    return a, b, c
