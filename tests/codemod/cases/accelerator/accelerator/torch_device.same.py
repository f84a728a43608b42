import torch

rank = 0
a = torch.device("cuda")
b = torch.device("cuda", rank)
c = torch.device(f"cuda:{rank}")
d = torch.device("cuda:%d" % rank)
e = torch.device("cuda:1")
