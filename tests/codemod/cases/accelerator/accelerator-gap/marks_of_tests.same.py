import pytest
import torch

skip_if_cuda = pytest.mark.skipif(torch.cuda.is_available(), reason="Only on CPUs, to save time")

skip_if_no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA required")
