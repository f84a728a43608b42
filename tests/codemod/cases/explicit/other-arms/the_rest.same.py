import torch
from trl.utils import is_torch_mlu_available, is_torch_mps_available, is_torch_npu_available


def empty_cache():
    """Empties the cache of the available device. If none, defaults to emptying the CUDA cache."""
    if is_torch_mlu_available():
        torch.mlu.empty_cache()
    elif is_torch_mps_available():
        torch.mps.empty_cache()
    elif is_torch_npu_available():
        torch.npu.empty_cache()
    else:
        torch.cuda.empty_cache()
