import torch


def test_moved(model, device):
    moved = model.to(torch.zeros(2, device=device)).cuda()
    encoder = torch.nn.Linear(2, 2)
    assert encoder.register_module_for_the_last_layer.weight.device.type == device
    assert torch.zeros(2).device.type == device and moved is not None
