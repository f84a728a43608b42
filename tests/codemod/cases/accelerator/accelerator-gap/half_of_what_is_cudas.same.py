import torch
from merging import MergeOptions, fused_adam_class


def seed(number):
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(number)


def waited(number):
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(number)
        torch.cuda.synchronize()


def merge():
    return MergeOptions(cuda=torch.cuda.is_available())


def start(cfg):
    use_fused_adam = fused_adam_class is not None and torch.cuda.is_available()
    if cfg.data_parallel_backend and torch.cuda.device_count() == 0:
        raise ValueError("You must have at least 1 GPU to use DataParallel")
    return use_fused_adam


def test_two_keys(cached):
    first = torch.device("cuda:0")
    second = torch.device("cuda", 1)
    assert cached(first) != cached(second)
