import torch


class Model:
    def __init__(self, model):
        self.model = model
        if torch.accelerator.is_available():
            self.USE_CUDA = True
        else:
            self.USE_CUDA = False
        if self.USE_CUDA:
            self.model = self.model.to(torch.accelerator.current_accelerator())

    def fit(self, x):
        if self.USE_CUDA:
            x = x.to(torch.accelerator.current_accelerator())
        return self.model(x)
