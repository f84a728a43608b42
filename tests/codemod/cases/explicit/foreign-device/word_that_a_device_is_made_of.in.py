import torch
from transformers import AutoModel, pipeline


def model(path, device=None):
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(device)
    return AutoModel.from_pretrained(path).to(device).eval()


def named(path):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    classify = pipeline("text-classification", path, device=device)
    device = torch.device(device)
    return classify, torch.zeros(3, device=device)
