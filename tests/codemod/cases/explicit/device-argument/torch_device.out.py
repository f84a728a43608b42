import tdev

rank = 0
a = tdev.device("cuda")
b = tdev.device("cuda", rank)
c = tdev.device(f"cuda:{rank}")
d = tdev.device("cuda:%d" % rank)
e = tdev.device("cuda:{}".format(rank))
f = tdev.device(type="cuda", index=1)
g = tdev.device("cuda:" + str(rank))
h = tdev.device(rank)
