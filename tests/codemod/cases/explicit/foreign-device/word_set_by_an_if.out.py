import tdev
from sentence_transformers import SentenceTransformer


def where_it_is_given(name):
    return SentenceTransformer(
        name, device=str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"
    )


def by_an_if(name):
    device = "cpu"
    if tdev.cuda.is_available():
        device = str(tdev.device("cuda"))
    return SentenceTransformer(name, device=device)


def by_another(name, wanted):
    device = "cpu"
    if wanted:
        device = "cuda"
    return SentenceTransformer(name, device=device)
