import torch

from .conftest import requires_tensorrt


@requires_tensorrt
def test_engine(tmp_path):
    model = torch.nn.Linear(2, 2).cuda().half()
    assert export(model, tmp_path)
