import torch
from faster_whisper import WhisperModel


def load(name, device, kind="default"):
    if kind == "default":
        kind = "float16" if device == "cuda" else "float32"
    return WhisperModel(name, device=device, compute_type=kind), torch.zeros(3, device="cuda")
