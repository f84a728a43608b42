import pytest
import torch

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no accelerator")
