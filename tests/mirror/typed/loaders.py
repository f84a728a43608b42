# ruff: noqa
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    Sampler,
    TensorDataset,
    default_collate,
    random_split,
)
from torch.utils.data.distributed import DistributedSampler

Item = tuple[torch.Tensor, torch.Tensor]


class Shuffled(Sampler[int]):
    def __init__(self, size: int, generator: torch.Generator | None = None) -> None:
        self.size, self.generator = size, generator

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(self.size, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.size


class OnDevice(DataLoader[Item]):
    def __init__(self, data: Dataset[Item], device: torch.device | str, **options: Any) -> None:
        super().__init__(data, pin_memory=True, pin_memory_device="cuda", **options)
        self.device = torch.device(device)

    def __iter__(self) -> Iterator[Item]:
        for inputs, targets in super().__iter__():
            yield inputs.to(self.device, non_blocking=True), targets.to(self.device)


def padded(items: Sequence[Item]) -> Item:
    inputs, targets = zip(*items)
    return torch.nn.utils.rnn.pad_sequence(inputs), default_collate(targets)


data = TensorDataset(torch.ones(8, 2), torch.ones(8))
train, test = random_split(data, [6, 2], generator=torch.Generator())
loader = OnDevice(train, "cuda", sampler=Shuffled(6), collate_fn=padded, num_workers=2)
for x, y in loader:
    reveal_type(x)
reveal_type(train)
reveal_type(loader.dataset)
reveal_type(DistributedSampler(data, num_replicas=2, rank=0).set_epoch)
reveal_type(next(iter(DataLoader(data, batch_sampler=[[0], [1]]))))
OnDevice([1, 2], device=3)
DataLoader(data, batch_size="4", worker_init_fn=lambda: None)
