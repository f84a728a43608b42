import torch

torch.cuda.reset_peak_memory_stats()
free, total = torch.cuda.mem_get_info()
peak = torch.cuda.max_memory_allocated(device=0)
i = torch.cuda.current_device()
name = torch.cuda.get_device_name(0)
