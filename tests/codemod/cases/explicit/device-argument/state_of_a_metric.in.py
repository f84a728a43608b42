import torch
from torchmetrics import Metric


class MeanIoU(Metric):
    def __init__(self, n, where):
        self.n = n
        self.where = where
        self.add_state("inter", default=torch.zeros(n), dist_reduce_fx="sum")
        self.add_state("where", [], dist_reduce_fx="cat")

    def update(self):
        self.inter += torch.zeros(self.n, device=self.inter.device)
        return torch.ones(self.n, device=self.where)
