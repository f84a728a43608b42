import torch
from torch.distributed.distributed_c10d import _get_pg_default_device


def segments(embeddings, batch, length):
    def lengths_to_mask(lengths, limit, device):
        return torch.arange(limit, device=device).expand(lengths.size(0), limit)

    device = embeddings.device
    return lengths_to_mask(embeddings[0], length, device)


class Detector(torch.nn.Module):
    def _random(self, *shape: int, device) -> torch.Tensor:
        return torch.zeros(*shape, device=device)

    def forward(self, images):
        return self._random(1, 10, device=images.device)


class Transform:
    def _masked(self, interaction, count, device):
        return torch.tensor(interaction[count], device=device)

    def __call__(self, interaction):
        item_seq = interaction["seq"]
        device = item_seq.device
        return self._masked(interaction, 3, device), item_seq.size(0)

    def crop(self, interaction):
        item_seq = interaction["seq"]
        device = item_seq.device
        return [torch.tensor(seq, device=device) for seq in item_seq]


def document_ids(seq_lens: list[torch.Tensor]):
    return [
        torch.full((seq_len,), i, dtype=torch.long, device=seq_len.device)
        for i, seq_len in enumerate(seq_lens[0])
    ]


def gathered(size, group):
    current_device = _get_pg_default_device(group)
    return torch.empty(size.item(), dtype=torch.uint8, device=current_device)
