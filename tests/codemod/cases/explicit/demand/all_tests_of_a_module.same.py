from importlib.util import find_spec

import pytest
import torch

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (torch.cuda.is_available() and find_spec("checkpoints") is not None),
        reason="needs CUDA and the checkpoints",
    ),
]


def test_masks():
    from package.masks import find

    images = torch.zeros(2, 3, device="cuda")
    assert find(images, torch.nn.Linear(3, 3).cuda()).any()
