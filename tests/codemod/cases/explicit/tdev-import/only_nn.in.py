import os

import torch.nn as nn
from torch.utils.data import DataLoader


def train(loader):
    model = nn.Linear(2, 2)
    model.cuda()
    for batch in loader:
        model(batch.cuda(non_blocking=True))
