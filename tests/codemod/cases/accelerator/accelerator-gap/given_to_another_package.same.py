import torch
from speech import Recognizer

device = "cuda" if torch.cuda.is_available() else "cpu"
recognizer = Recognizer("large", device=device)
