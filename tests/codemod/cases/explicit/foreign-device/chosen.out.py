import tdev
from sentence_transformers import SentenceTransformer


def embed(texts):
    device = str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"
    model = SentenceTransformer("name", device=device)
    return model.encode(texts)


def asked(name):
    use_cuda = tdev.cuda.is_available()
    device = str(tdev.device("cuda:0")) if use_cuda else "cpu"
    return SentenceTransformer(name, device=device)


def own(name):
    device = "cuda" if tdev.cuda.is_available() else "cpu"
    print(name, device)
    return tdev.zeros(3, device=device)


class Encoder:
    def __init__(self):
        self.device = (
            str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"
        )
        self.model = SentenceTransformer("name", device=self.device)
