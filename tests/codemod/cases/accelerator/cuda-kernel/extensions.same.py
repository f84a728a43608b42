import torch
from torch.utils.cpp_extension import BuildExtension, CUDAExtension, load, load_inline

ext = CUDAExtension("a", ["a.cu"])
mod = load(name="b", sources=["b.cpp", "b.cu"])
cpp = load(name="c", sources=["c.cpp"])
inline = load_inline("d", cpp_sources="", cuda_sources=SRC)
