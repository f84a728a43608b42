import torch.nn as nn
from apex.parallel import DistributedDataParallel as DDP
from apex.parallel import SyncBatchNorm, convert_syncbn_model


class Stem(nn.Module):
    def __init__(self, width, group=None):
        super().__init__()
        self.norm = SyncBatchNorm(width, 1e-3, momentum=0.2, process_group=group, channel_last=False)


def wrapped(model, late):
    model = convert_syncbn_model(model).to(late)
    assert any(isinstance(m, SyncBatchNorm) for m in model.modules())
    if isinstance(model, DDP):
        return DDP(model, delay_allreduce=False)
    return DDP(model, message_size=2**20, delay_allreduce=late)
