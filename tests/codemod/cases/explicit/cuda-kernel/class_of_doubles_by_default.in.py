import torch


class Precise:
    def __init__(self, size, device=None, *, dtype=torch.float64):
        self.size = size
        self.dtype = dtype
        self.steps = 0
        self.names = []

        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)

    def zeros(self):
        return torch.zeros(
            self.size,
            dtype=self.dtype,
            device=self.device,
        )


class Plain:
    def __init__(self, size, device=None, *, dtype=torch.float32):
        self.size = size
        self.dtype = dtype
        self.steps = 0
        self.names = []

        if device is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)

    def zeros(self):
        return torch.zeros(
            self.size,
            dtype=self.dtype,
            device=self.device,
        )

    def sums(self):
        return torch.zeros(self.size, dtype=torch.float64)


class KnowsMps:
    def __init__(self, size):
        self.size = size
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def zeros(self):
        if self.device.type == "mps":
            return torch.zeros(self.size, device=self.device)
        return torch.zeros(self.size, dtype=torch.float64, device=self.device)
