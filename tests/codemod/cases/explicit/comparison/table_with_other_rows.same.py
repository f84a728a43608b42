import torch


class Matcher(torch.nn.Module):
    thresholds = {"cpu": -1, "mps": -1, "cuda": 1024, "flash": 1536}
    words = {"cuda": 1, "word": 2}
    names = {"cuda:0": 1, "other": 2}

    def threshold(self, device):
        return self.thresholds[device.type]
