import torch

model = torch.nn.Linear(2, 2).cuda()
torch.cuda.empty_cache()
