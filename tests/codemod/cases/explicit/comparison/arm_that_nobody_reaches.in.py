import torch


class Model:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def load(self, path):
        if self.device == "cuda":
            return torch.load(path)
        return torch.load(path, map_location=torch.device("cpu"))
