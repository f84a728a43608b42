import torch


class Server:
    def __init__(self, backend="vllm", sleeps=True):
        self.sleeps = sleeps if backend == "vllm" and torch.cuda.is_available() else False

    def place(self, model):
        return model.to("cuda" if torch.cuda.is_available() else "cpu")
