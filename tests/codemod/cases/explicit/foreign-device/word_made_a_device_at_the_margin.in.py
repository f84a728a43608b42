import torch
from transformers import AutoModel, pipeline

device = "cuda" if torch.cuda.is_available() else "cpu"
device = torch.device(device)
place = "cuda" if torch.cuda.is_available() else "cpu"


def classify(path):
    return pipeline("text-classification", path, device=device)


def model(path):
    return AutoModel.from_pretrained(path).to(place)
