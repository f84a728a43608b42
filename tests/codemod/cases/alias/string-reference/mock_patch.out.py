from unittest import mock
from unittest.mock import patch

import torch


@mock.patch("tdev.cuda.is_available", return_value=False)
@patch("tdev.cuda.device_count")
def test_cpu(count, available):
    assert torch.ones(1) is not None
