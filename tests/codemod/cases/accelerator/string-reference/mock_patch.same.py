from unittest import mock
from unittest.mock import patch

import torch


def count():
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


@mock.patch("torch.cuda.is_available", return_value=False)
@patch("torch.cuda.device_count")
def test_cpu(devices, available):
    assert count() == 0
