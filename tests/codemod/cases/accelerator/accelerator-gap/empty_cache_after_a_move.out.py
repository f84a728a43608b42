import torch

model = torch.nn.Linear(2, 2).to(torch.accelerator.current_accelerator())
torch.cuda.empty_cache()
