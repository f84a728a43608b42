import torch


class Model:
    def __init__(self, use_cuda=True, number=-1):
        if use_cuda:
            if torch.cuda.is_available():
                self.device = torch.device("cuda") if number == -1 else torch.device(f"cuda:{number}")
            else:
                raise ValueError("'use_cuda' is set, and CUDA is unavailable. Set use_cuda=False.")
        else:
            self.device = "cpu"
