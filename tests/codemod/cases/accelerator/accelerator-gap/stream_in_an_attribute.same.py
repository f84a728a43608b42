import torch


class Loader:
    def __init__(self):
        self.stream = torch.cuda.Stream()

    def wait(self):
        torch.cuda.current_stream().wait_stream(self.stream)
