import torch


class Data:
    def __init__(self, device: torch.device, accelerated, given):
        self._pin_memory = (device.type == "cuda" and accelerated) if given is None else given
        self._inductor_cudagraphs = True

    def check(self):
        if self.device.type != "cuda":
            self._inductor_cudagraphs = False
