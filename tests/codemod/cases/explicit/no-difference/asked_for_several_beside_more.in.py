import torch


def wrap(model):
    model = model.to(torch.device("cuda"))
    if torch.cuda.device_count() > 1:
        model = torch.nn.DataParallel(model)
    return model
