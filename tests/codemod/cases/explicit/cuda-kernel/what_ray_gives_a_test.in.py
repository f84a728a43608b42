import ray
import torch
from pkg.backend import trainer_kwargs


def test_kwargs():
    kwargs = trainer_kwargs()
    if torch.cuda.device_count() > 0:
        assert kwargs["num_workers"] == torch.cuda.device_count()
        assert kwargs["use_gpu"]
    else:
        assert kwargs["num_workers"] == 1


def test_device():
    ray.init()
    if torch.cuda.device_count() > 0:
        assert torch.cuda.current_device() == 0
