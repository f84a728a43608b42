import torch

torch.accelerator.reset_peak_memory_stats()
free, total = torch.accelerator.get_memory_info()
peak = torch.accelerator.max_memory_allocated(0)
i = torch.accelerator.current_device_index()
name = torch.cuda.get_device_name(0)
