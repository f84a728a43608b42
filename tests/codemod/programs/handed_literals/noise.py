import torch as th


class Noise:
    def __init__(self, size, device):
        self.size = size
        self.generator = th.Generator(device=device)
        self.generator.manual_seed(1)
        self.device = device

    def sample(self):
        return th.randn(self.size, generator=self.generator, device=self.device)
