import tdev
import torch


class Encoder:
    def __init__(self, size):
        self.device = "cuda" if tdev.cuda.is_available() else "cpu"
        self.model = torch.nn.Linear(size, size)
        if self.device == "cuda":
            self.model.cuda()

    def encode(self, x):
        return self.model(x.cuda() if self.device != "cpu" else x)


class Given:
    def __init__(self, size, device="cuda"):
        self.device = device
        self.model = torch.nn.Linear(size, size)
        if tdev.is_accelerator(self.device, exact=True):
            self.model.cuda()


def main(word):
    device = "cuda:0" if tdev.cuda.is_available() else "cpu"
    if device.startswith("cuda"):
        tdev.cuda.empty_cache()
    place = "cpu"
    if tdev.cuda.is_available():
        place = "cuda"
    if place == "cuda" or word == "cuda":
        tdev.cuda.synchronize()
    return tdev.zeros(2, device=device)
