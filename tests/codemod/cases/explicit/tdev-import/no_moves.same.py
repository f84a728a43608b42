import torch

x = torch.ones(3).to("cpu").to(torch.float16)
y = x.cpu()
