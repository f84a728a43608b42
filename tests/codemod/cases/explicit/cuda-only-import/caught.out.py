import tdev

try:
    import cupy
except ImportError:
    cupy = None

tdev.cuda.synchronize()
