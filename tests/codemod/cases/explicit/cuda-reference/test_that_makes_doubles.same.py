import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
WITH_GPU = torch.cuda.is_available()
where = torch.device("cuda:0") if WITH_GPU else torch.device("cpu")


def test_gradient(layer):
    layer = layer.to(device)
    assert torch.autograd.gradcheck(layer.double(), torch.ones(3))


def test_sums(layer):
    x = torch.ones(3, device=where)
    assert x.double().sum() == 3
