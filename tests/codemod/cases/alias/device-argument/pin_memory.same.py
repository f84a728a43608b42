import torch
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=2, pin_memory=True, num_workers=2)
x = torch.ones(1).pin_memory()
# copies to cuda are asynchronous
