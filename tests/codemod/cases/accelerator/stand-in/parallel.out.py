import torch.nn as nn


class Stem(nn.Module):
    def __init__(self, width, group=None):
        super().__init__()
        self.norm = nn.SyncBatchNorm(width, eps=1e-3, momentum=0.2, process_group=group)


def wrapped(model, late):
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model).to(late)
    assert any(isinstance(m, nn.SyncBatchNorm) for m in model.modules())
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    return nn.parallel.DistributedDataParallel(
        model, broadcast_buffers=False, find_unused_parameters=late
    )
