import torch


def report(device):
    print(torch.cuda.get_device_name(device))


def start(model):
    report(0)
    model.train()


def main(model):
    if torch.cuda.is_available():
        start(model)
        model.cuda()
