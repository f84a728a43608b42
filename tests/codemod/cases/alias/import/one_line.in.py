import torch; torch.cuda.synchronize(); print(torch.ones(1))
