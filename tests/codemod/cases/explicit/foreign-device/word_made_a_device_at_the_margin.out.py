import tdev
from transformers import AutoModel, pipeline

device = "cuda" if tdev.cuda.is_available() else "cpu"
device = tdev.device(device)
place = "cuda" if tdev.cuda.is_available() else "cpu"


def classify(path):
    return pipeline("text-classification", path, device=device)


def model(path):
    return AutoModel.from_pretrained(path).to(place)
