import torch


class Tests:
    def load_params(self):
        import tdev

        return tdev.load

    def zeros(self):
        import tdev
        import torch

        tdev.cuda.synchronize()
        return torch.zeros(3)

    def words(self):
        import tdev
        import torch

        tdev.cuda.synchronize()
        return eval("torch.ones(3)")


def plain():
    return torch.ones(3)
