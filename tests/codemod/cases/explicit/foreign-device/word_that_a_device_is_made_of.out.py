import tdev
import torch
from transformers import AutoModel, pipeline


def model(path, device=None):
    device = device or ("cuda" if tdev.cuda.is_available() else "cpu")
    device = tdev.device(device)
    return AutoModel.from_pretrained(path).to(device).eval()


def named(path):
    device = str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"
    classify = pipeline("text-classification", path, device=device)
    device = tdev.device(device)
    return classify, torch.zeros(3, device=device)
