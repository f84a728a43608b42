import torch

torch.cuda.nvtx.range_push("a")
g = torch.cuda.CUDAGraph()
torch.cuda.set_per_process_memory_fraction(0.5)
