import torch

torch.accelerator.reset_peak_memory_stats()
torch.accelerator.synchronize()
torch.accelerator.synchronize()
