import torch


def load(path, model, rank):
    torch.load(path, map_location="cuda:{}".format(rank))
    torch.load(path, map_location="cuda:%d" % rank)
    torch.load(path, map_location="cuda:" + str(rank))
    model.to("cuda" + ":" + str(rank))
    if torch.cuda.is_available():
        first = "cuda:%d" % rank
        second = "cuda:{}".format(rank)
        return first, second
    return [f"cuda:{i}" for i in range(torch.cuda.device_count())]


def every(model):
    accelerator = torch.accelerator.current_accelerator()
    for i in range(torch.accelerator.device_count()):
        device = f"{accelerator.type}:{i}"
        model.to(device)
    return [
        f"{accelerator.type}:{i}"
        for i in range(torch.accelerator.device_count())
    ]
