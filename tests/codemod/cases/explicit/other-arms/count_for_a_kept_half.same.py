import torch


def place(model, device):
    kwargs = {}
    count = torch.cuda.device_count()
    if device == torch.device("cuda") and count > 1:
        kwargs["max_memory"] = {i: "13GiB" for i in range(count)}
    elif device.type == "mps":
        kwargs["half"] = False
    return model.place(**kwargs)


def spread(model, device):
    count = torch.cuda.device_count()
    if device == torch.device("cuda") and count > 1:
        return model.spread(count)
    elif device.type == "mps":
        return model.half()
    return model.place(count)
