import tdev
from transformers import AutoModel


def load(name, rank):
    a = AutoModel.from_pretrained(
        name, device_map={"": str(tdev.device("cuda")) if tdev.cuda.is_available() else "cpu"}
    )
    b = AutoModel.from_pretrained(name, device_map={"": "cuda:" + str(rank)})
    c = AutoModel.from_pretrained(
        name, device_map={"": str(tdev.device("cuda:0")), "x": str(tdev.device(f"cuda:{rank}"))}
    )
    return a, b, c
