import tdev
import torch


class Batch:
    """A batch of sentences, moved to the device as it is made."""

    def __init__(self, src, device: torch.device):
        self.src = src
        if tdev.is_accelerator(device.type):
            self._make_cuda(device)

    def _make_cuda(self, device: torch.device):
        self.src = self.src.to(device)


class Sorted:
    def __init__(self, src):
        self.src = src
        if src.device.type == "cuda":
            self._sort_cuda()

    def _sort_cuda(self):
        self.src = torch.ops.sorting.radix(self.src)
