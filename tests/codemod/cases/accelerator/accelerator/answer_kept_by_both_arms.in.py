import torch


class Model:
    def __init__(self, model):
        self.model = model
        if torch.cuda.is_available():
            self.USE_CUDA = True
        else:
            self.USE_CUDA = False
        if self.USE_CUDA:
            self.model = self.model.cuda()

    def fit(self, x):
        if self.USE_CUDA:
            x = x.cuda()
        return self.model(x)
