import torch


def place(module, i):
    if torch.cuda.is_available():
        best = "cuda:" + str(i % torch.cuda.device_count())
    else:
        best = "cpu"
    return module.to(best)


def last(module):
    return module.to("cuda:{}".format(torch.cuda.device_count() - 1))


def first(module):
    return module.to("cuda:%d" % torch.cuda.current_device())


def tell():
    print("cuda: " + str(torch.cuda.is_available()))
    print("cuda:", torch.cuda.is_available())
