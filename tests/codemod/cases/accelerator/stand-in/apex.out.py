import torch.nn as nn
import torch


class Block(nn.Module):
    def __init__(self, width, norm=nn.LayerNorm):
        super().__init__()
        self.before = norm(width)
        self.after = nn.RMSNorm(width, eps=1e-5, elementwise_affine=True)
        assert isinstance(self.after, nn.RMSNorm)


def optimizers(model):
    return torch.optim.AdamW(
        model.parameters(), lr=1e-2, weight_decay=0.0, fused=True
    ), torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
