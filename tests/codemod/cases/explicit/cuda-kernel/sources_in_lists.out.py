from pathlib import Path

import tdev
import torch

HERE = Path(__file__).parent
CPU_SOURCES = [
    (HERE / "cpu" / "rows_cpu.cpp").as_posix(),
    (HERE / "cpu" / "tensors.cpp").as_posix(),
]
GPU_SOURCES = [
    (HERE / "gpu" / "rows.cpp").as_posix(),
    (HERE / "gpu" / "rows_impl.cu").as_posix(),
]


class Plain:
    def load(self):
        return torch.utils.cpp_extension.load("rows_cpu", CPU_SOURCES, verbose=False)


class Loader:
    def load(self):
        return torch.utils.cpp_extension.load("rows_gpu", GPU_SOURCES, verbose=False)


class Absent:
    def load(self):
        raise RuntimeError("no CUDA here")


if torch.cuda.is_available():
    ROWS = Loader()
else:
    ROWS = Absent()


def build(name, sources):
    return tdev.utils.cpp_extension.load(name, sources)


def wait():
    tdev.cuda.synchronize()
