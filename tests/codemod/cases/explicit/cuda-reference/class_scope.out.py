import tdev
import torch


class Timer:
    torch = None

    def stop(self):
        tdev.cuda.synchronize()
        return torch.ones(1)
