import torch

rank = 0
a = torch.accelerator.current_accelerator()
b = torch.device(torch.accelerator.current_accelerator().type, rank)
c = torch.device(f"{torch.accelerator.current_accelerator().type}:{rank}")
d = torch.device(f"{torch.accelerator.current_accelerator().type}:{rank}")
e = torch.device(f"{torch.accelerator.current_accelerator().type}:1")
