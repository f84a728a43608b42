import lightning as L
import torch
from safetensors import safe_open


class Model:
    def __init__(self, use_cuda):
        self.device = "cuda" if use_cuda else "cpu"
        self.fabric = L.Fabric(accelerator="cuda", devices=1)

    def forward(self, x):
        return x.to(self.device)

    def weights(self, path):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with safe_open(path, framework="pt", device=device) as file:
            return file.keys()
