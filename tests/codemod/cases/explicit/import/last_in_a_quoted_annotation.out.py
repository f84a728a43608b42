import queue
from typing import Optional

import tdev


class Worker:
    def __init__(self, size: int) -> None:
        self.events: Optional["queue.Queue[tdev.cuda.Event]"] = None
        self.size = size

    def start(self) -> None:
        self.events = queue.Queue(self.size)
        self.events.put(tdev.cuda.Event(enable_timing=True))
