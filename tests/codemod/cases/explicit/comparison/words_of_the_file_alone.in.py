import torch


class Encoder:
    def __init__(self, size):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = torch.nn.Linear(size, size)
        if self.device == "cuda":
            self.model.cuda()

    def encode(self, x):
        return self.model(x.cuda() if self.device != "cpu" else x)


class Given:
    def __init__(self, size, device="cuda"):
        self.device = device
        self.model = torch.nn.Linear(size, size)
        if self.device == "cuda":
            self.model.cuda()


def main(word):
    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    place = "cpu"
    if torch.cuda.is_available():
        place = "cuda"
    if place == "cuda" or word == "cuda":
        torch.cuda.synchronize()
    return torch.zeros(2, device=device)
