import torch


def first(model, rank):
    if torch.cuda.is_available():
        one = "cuda:%d" % rank
        two = "cuda:{}".format(rank)
        three = "cuda:" + str(rank)
        return model.to(one), torch.device("cuda", rank), torch.device(f"cuda:{rank}"), two, three
    return [f"cuda:{i}" for i in range(torch.cuda.device_count())]


def every(model):
    for i in range(torch.cuda.device_count()):
        device = "cuda:%d" % i
        model.to(device)
    return ["cuda:%d" % i for i in range(torch.cuda.device_count())]
