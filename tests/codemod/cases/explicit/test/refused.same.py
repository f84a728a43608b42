import pytest
import torch
from pkg import core


def test_there_is_none():
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError):
            core.move(torch.ones(3), device="cuda")
