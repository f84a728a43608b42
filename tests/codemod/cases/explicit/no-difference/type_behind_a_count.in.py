import torch


def wrap(model, device):
    model = model.to(torch.device("cuda"))
    if torch.cuda.device_count() > 1 and device.type == "cuda":
        model = torch.nn.DataParallel(model)
    return model
