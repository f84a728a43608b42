import queue
from typing import Optional

import torch


class Worker:
    def __init__(self, size: int) -> None:
        self.events: Optional["queue.Queue[torch.cuda.Event]"] = None
        self.size = size

    def start(self) -> None:
        self.events = queue.Queue(self.size)
        self.events.put(torch.cuda.Event(enable_timing=True))
