import torch
import warp as wp


class Neighbors:
    def __init__(self, device=None):
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def of(self, points):
        return wp.from_torch(points.to(self.device))

    def count(self, n, device):
        return torch.zeros(n, device=torch.device(device))
