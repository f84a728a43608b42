import tdev
from transformers import AutoModel, AutoTokenizer


def load(name):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    return AutoModel.from_pretrained(name).to(device)


class Encoder:
    def __init__(self, name):
        self.device = "cuda" if tdev.cuda.is_available() else "cpu"
        self.model = AutoModel.from_pretrained(name).to(device=self.device)
        self.tokenizer = AutoTokenizer.from_pretrained(name)

    def encode(self, text):
        return self.model(**self.tokenizer(text).to(self.device))
