# ruff: noqa
from collections.abc import Iterator

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Pairs(Dataset[tuple[torch.Tensor, int]]):
    def __init__(self, size: int) -> None:
        self.items = torch.randn(size, 3)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return self.items[index], index


class Stream(IterableDataset[torch.Tensor]):
    def __iter__(self) -> Iterator[torch.Tensor]:
        yield torch.zeros(1)


loader = DataLoader(Pairs(8), batch_size=4, pin_memory=True, generator=torch.Generator("cuda"))
for batch in loader:
    reveal_type(batch)
missing: Dataset[int] = Pairs("8")
