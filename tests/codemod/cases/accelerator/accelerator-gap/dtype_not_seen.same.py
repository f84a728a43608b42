import numpy as np
import torch


def search(loss, dtype):
    if torch.cuda.is_available():
        loss = torch.tensor(np.nan, dtype=dtype).cuda()
    return loss
