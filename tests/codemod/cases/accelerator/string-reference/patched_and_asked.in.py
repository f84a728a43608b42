from unittest import mock

import torch


def place(model):
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


@mock.patch("torch.cuda.is_available", return_value=False)
def test_cpu(available):
    assert place(torch.ones(1)).device.type == "cpu"
