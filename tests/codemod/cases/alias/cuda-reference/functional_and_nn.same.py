import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, optim
from torch.utils.data import Dataset


class Net(nn.Module):
    def forward(self, cuda: Tensor) -> Tensor:
        return F.relu(cuda)
