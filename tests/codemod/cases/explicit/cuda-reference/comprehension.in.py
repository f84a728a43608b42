import torch

names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
total = {i: torch.cuda.get_device_properties(i).total_memory for i in range(2)}
sums = [torch.ones(i) for i in range(3)]
