import torch
from transformers import AutoModel


class Holder:
    def load(self, path, device=None):
        device = device or ("cuda" if self._has_gpu() else "cpu")
        self.model = AutoModel.from_pretrained(path, device_map=device)

    def again(self, path):
        there = self._has_gpu()
        device = "cuda" if there else "cpu"
        self.model = AutoModel.from_pretrained(path, device_map=device)

    def _has_gpu(self):
        return torch.cuda.is_available()


def load(path, there):
    device = "cuda" if there.has_gpu() else "cpu"
    return AutoModel.from_pretrained(path, device_map=device)
