from unittest.mock import patch

import torch


def test_the_device(model):
    with patch("package.encoder.torch.zeros", return_value=torch.ones(2)) as zeros:
        model.prior(use_cuda=True)
        assert all(call.kwargs["device"] == "cuda" for call in zeros.call_args_list)


def test_clear():
    torch.cuda.empty_cache()
