from unittest import mock
from unittest.mock import patch

import torch


def count():
    return (
        torch.accelerator.device_count()
        if torch.accelerator.is_available()
        else 0
    )


@mock.patch("torch.accelerator.is_available", return_value=False)
@patch("torch.accelerator.device_count")
def test_cpu(devices, available):
    assert count() == 0
