import torch

model = torch.nn.Linear(1, 1).cpu().to(torch.float64)
x = torch.ones(1).to(model.weight.device)
# model.cuda()
