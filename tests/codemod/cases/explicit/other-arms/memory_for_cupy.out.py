import tdev
import torch

try:
    import cupy
except ImportError:
    cupy = None


def share_memory():
    pool = cupy.cuda.memory.PythonFunctionAllocator(_alloc, _free)
    cupy.cuda.set_allocator(pool.malloc)


def _alloc(size, device):
    return torch.cuda.caching_allocator_alloc(size, device)


def _free(pointer, device):
    torch.cuda.caching_allocator_delete(pointer)


def clear():
    tdev.cuda.empty_cache()
