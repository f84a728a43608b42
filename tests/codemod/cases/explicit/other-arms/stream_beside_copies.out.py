from typing import Optional

import tdev
import torch


class Unit:
    def __init__(self, device: torch.device):
        self.device = device
        self.stream: Optional[torch.cuda.streams.Stream] = (
            torch.cuda.Stream() if self.device.type == "cuda" else None
        )

    def fetch(self, batch):
        with torch.cuda.stream(self.stream):
            batch = batch.to(self.device, non_blocking=self.device.type == "cuda")
        if self.stream:
            torch.cuda.current_stream().wait_stream(self.stream)
        return batch

    def free(self):
        if tdev.is_accelerator(self.device.type):
            tdev.cuda.empty_cache()


def pick():
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
