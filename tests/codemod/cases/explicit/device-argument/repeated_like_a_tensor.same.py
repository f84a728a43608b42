import torch


def groups(batch):
    cls, box = batch["cls"], batch["bboxes"]
    box = box.repeat(3, 1)
    return torch.arange(3, device=box.device), cls
