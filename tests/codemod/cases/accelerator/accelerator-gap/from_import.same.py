import torch
from torch.cuda import get_device_name, synchronize

synchronize()
print(get_device_name(0), torch.ones(1))
