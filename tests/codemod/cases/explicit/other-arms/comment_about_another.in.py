import torch


def step(self, data):
    # autocast complains on mps, even if it is turned off.
    # So it is active on CUDA alone.
    with torch.autocast("cuda") if self.device.type == "cuda" else nothing():
        self.net(data)
    # On a GPU the tensors are moved first.
    if self.device.type == "cuda":
        torch.cuda.synchronize()
