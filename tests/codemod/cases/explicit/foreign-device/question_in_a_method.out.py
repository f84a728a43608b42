import tdev
from transformers import AutoModel


class Holder:
    def load(self, path, device=None):
        device = device or (
            str(tdev.device("cuda")) if self._has_gpu() else "cpu"
        )
        self.model = AutoModel.from_pretrained(path, device_map=device)

    def again(self, path):
        there = self._has_gpu()
        device = str(tdev.device("cuda")) if there else "cpu"
        self.model = AutoModel.from_pretrained(path, device_map=device)

    def _has_gpu(self):
        return tdev.cuda.is_available()


def load(path, there):
    device = "cuda" if there.has_gpu() else "cpu"
    return AutoModel.from_pretrained(path, device_map=device)
