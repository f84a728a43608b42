import tdev
import torch
from faster_whisper import WhisperModel

model = WhisperModel("large", device="cuda" if torch.cuda.is_available() else "cpu")


def transcribe(path):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = WhisperModel("large", device=device, compute_type="float16")
    return model.transcribe(path)


def train(model):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    return model.to(device)
