import torch


class Tests:
    def load_params(self):
        import torch

        return torch.load

    def zeros(self):
        import torch

        torch.cuda.synchronize()
        return torch.zeros(3)

    def words(self):
        import torch

        torch.cuda.synchronize()
        return eval("torch.ones(3)")


def plain():
    return torch.ones(3)
