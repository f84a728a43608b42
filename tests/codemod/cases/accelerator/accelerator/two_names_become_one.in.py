import torch

torch.cuda.reset_max_memory_allocated()
torch.cuda.reset_max_memory_cached()
torch.cuda.reset_peak_memory_stats()
torch.cuda.synchronize()
torch.cuda.synchronize()
