from unittest.mock import patch

import torch


@patch("torch.distributed.get_world_size", len)
def test_it():
    torch.cuda.synchronize()


def pick(model):
    if torch.cuda.is_available():
        model.compile()
    elif torch.backends.mps.is_available():
        model.half()
