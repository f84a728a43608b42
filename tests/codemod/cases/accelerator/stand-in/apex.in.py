import torch.nn as nn
from apex.normalization import FusedLayerNorm, FusedRMSNorm
from apex.optimizers import FusedAdam


class Block(nn.Module):
    def __init__(self, width, norm=FusedLayerNorm):
        super().__init__()
        self.before = norm(width)
        self.after = FusedRMSNorm(width, elementwise_affine=True, memory_efficient=True)
        assert isinstance(self.after, FusedRMSNorm)


def optimizers(model):
    return FusedAdam(model.parameters(), 1e-2), FusedAdam(model.parameters(), lr=1e-2, betas=(0.9, 0.95), adam_w_mode=False, weight_decay=0.1)
