import torch


def test_recommends(model):
    # Pretend to be on the GPU
    model.device = torch.device("cuda")
    model.recommend()
