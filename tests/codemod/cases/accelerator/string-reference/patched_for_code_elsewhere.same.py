from unittest import mock
from unittest.mock import patch

import torch


@mock.patch("torch.cuda.is_available", return_value=False)
@patch("torch.cuda.device_count")
def test_cpu(count, available):
    assert torch.ones(1) is not None
