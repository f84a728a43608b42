import ctranslate2
import torch


class Whisper:
    def encode(self, features):
        to_cpu = self.model.device == "cuda" and len(self.model.device_index) > 1
        return self.model.encode(features, to_cpu=to_cpu), torch.zeros(3)


def moved(x):
    return x.device.type == "cuda"
