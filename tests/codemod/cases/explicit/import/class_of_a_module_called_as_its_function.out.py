import tdev  # noqa: F401 (lets .cuda() and .to("cuda") run anywhere)
import torch
from torch.nn.parallel.data_parallel import DataParallel


class Runner:
    def inner(self):
        return self.model.module if isinstance(self.model, DataParallel) else self.model

    def place(self, batch):
        return batch.to(f"cuda:{self.rank}")
