import torch


def fit(device):
    torch.manual_seed(0)
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    model.to(device)
    (model(torch.ones(2, 1).to(device)) * 2).sum().backward()
    return (model.weight + model.weight.grad).item()
