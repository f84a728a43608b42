import tdev as torch

rank = 0
a = torch.device("cuda")
b = torch.device("cuda", rank)
c = torch.device(f"cuda:{rank}")
d = torch.device("cuda:%d" % rank)
e = torch.device("cuda:{}".format(rank))
f = torch.device(type="cuda", index=1)
g = torch.device("cuda:" + str(rank))
h = torch.device(rank)
