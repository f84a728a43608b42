import torch
from torch.utils.cpp_extension import CppExtension

modules = [CppExtension("conv_cpu", ["conv.cpp"])]
if torch.cuda.is_available():
    from .build import conv_cuda

if torch.cuda.is_available() and not modules:
    modules.append("src/conv_kernel.cu")
