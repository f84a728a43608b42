import torch


def test_moves(model):
    if torch.accelerator.is_available():
        device = torch.accelerator.current_accelerator()
        moved = model.to(device)
        x = moved(torch.ones(3))
        assert x.device.type == device.type
