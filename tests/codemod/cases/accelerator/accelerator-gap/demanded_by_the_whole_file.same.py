import torch

assert torch.cuda.is_available(), "CUDA must be available in order to use this"


def encode(text):
    return torch.tensor(text).cuda()


class Trainer:
    def reset(self):
        self.model = self.model.cuda()
