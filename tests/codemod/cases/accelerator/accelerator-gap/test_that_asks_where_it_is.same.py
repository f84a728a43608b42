import torch


def test_fix(self, model):
    if torch.cuda.is_available():
        model.to(torch.device("cuda:0"))
    if torch.cuda.is_available():
        self.assertTrue(next(model.parameters()).is_cuda)
