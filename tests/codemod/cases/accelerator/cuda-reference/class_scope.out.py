import torch


class Timer:
    torch = None

    def stop(self):
        torch.accelerator.synchronize()
        return torch.ones(1)
