import torch

workers = 4 if torch.cuda.is_available() else 0
x = torch.ones(3).cuda()
