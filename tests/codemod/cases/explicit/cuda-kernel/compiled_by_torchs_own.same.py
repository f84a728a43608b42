import glob

from torch.utils.cpp_extension import _jit_compile


def build(name):
    sources = glob.glob("csrc/*.cu") + ["csrc/ext.cpp"]
    return _jit_compile(name, sources, ["-O3"], ["--use_fast_math"])
