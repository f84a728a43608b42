import tdev
import torch


def place(module, i):
    if tdev.cuda.is_available():
        best = "cuda:" + str(i % tdev.cuda.device_count())
    else:
        best = "cpu"
    return module.to(best)


def last(module):
    return module.to("cuda:{}".format(tdev.cuda.device_count() - 1))


def first(module):
    return module.to("cuda:%d" % tdev.cuda.current_device())


def tell():
    print("cuda: " + str(torch.cuda.is_available()))
    print("cuda:", torch.cuda.is_available())
