from unittest.mock import patch

import tdev
import torch


@patch("torch.distributed.get_world_size", len)
def test_it():
    tdev.cuda.synchronize()


def pick(model):
    if torch.cuda.is_available():
        model.compile()
    elif torch.backends.mps.is_available():
        model.half()
