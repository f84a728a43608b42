from unittest import mock

import torch


def place(model):
    return model.to(
        torch.accelerator.current_accelerator().type
        if torch.accelerator.is_available()
        else "cpu"
    )


@mock.patch("torch.accelerator.is_available", return_value=False)
def test_cpu(available):
    assert place(torch.ones(1)).device.type == "cpu"
