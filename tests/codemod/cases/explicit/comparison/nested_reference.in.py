import torch

ok = torch.device("cuda", torch.cuda.current_device()).type == "cuda"
x = torch.ones(1)
