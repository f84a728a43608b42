import torch


class Timer:
    torch = None

    def stop(self):
        torch.cuda.synchronize()
        return torch.ones(1)
