import importlib
from importlib import import_module

import pytest

torch = importlib.import_module("torch")
cuda = import_module("torch.cuda")
again = __import__("torch")
other = import_module("json")


@pytest.mark.skipif("not torch.cuda.is_available()", reason="needs CUDA")
def test_synchronize():
    torch.cuda.synchronize()


@pytest.mark.xfail(condition="torch.cuda.device_count() < 2")
def test_two():
    pass


@pytest.mark.skipif("sys.platform == 'win32'", reason="is no place for it")
def test_here():
    pass
