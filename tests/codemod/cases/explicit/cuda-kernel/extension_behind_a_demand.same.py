from pathlib import Path

import torch


def load_kernel(size):
    from torch.utils.cpp_extension import load

    if not torch.cuda.is_available():
        raise ImportError("CUDA is currently a requirement for loading this kernel.")
    folder = Path(__file__).parent / "cuda"
    files = [folder / f for f in ["wkv_op.cpp", "wkv_cuda.cu"]]
    return load(name=f"wkv_{size}", sources=files)
