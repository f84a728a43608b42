import torch


class Upsampler:
    def __init__(self, gpu_id=None, device=None):
        if gpu_id:
            self.device = torch.device(
                f'cuda:{gpu_id}' if torch.cuda.is_available() else 'cpu') if device is None else device
        else:
            self.device = torch.device('cuda' if torch.cuda.is_available() else 'cpu') if device is None else device

    def wait(self):
        torch.cuda.synchronize()
