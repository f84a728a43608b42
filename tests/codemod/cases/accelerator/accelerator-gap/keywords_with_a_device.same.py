import torch


class Model:
    def __init__(self, net):
        self.keywords = {"device": "cuda", "dtype": torch.float16}
        self.net = net.to(device="cuda", dtype=torch.float32)

    def wait(self):
        torch.cuda.synchronize()
