import torch


def test_moves(model):
    if torch.cuda.is_available():
        moved = model.cuda()
        x = moved(torch.ones(3))
        assert x.device.type == "cuda"
