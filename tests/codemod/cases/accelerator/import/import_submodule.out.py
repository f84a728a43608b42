import torch
import torch.cuda

torch.accelerator.synchronize()
model = torch.nn.Linear(1, 1)
