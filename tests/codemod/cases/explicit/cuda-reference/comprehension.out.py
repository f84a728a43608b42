import tdev
import torch

names = [tdev.cuda.get_device_name(i) for i in range(tdev.cuda.device_count())]
total = {i: tdev.cuda.get_device_properties(i).total_memory for i in range(2)}
sums = [torch.ones(i) for i in range(3)]
