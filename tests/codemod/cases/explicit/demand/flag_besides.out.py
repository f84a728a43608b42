import tdev


def measure(name, *, cuda_sync=None):
    if cuda_sync and not tdev.cuda.is_available():
        raise ValueError("CUDA must be available to synchronize with it")
    cuda_sync = cuda_sync if cuda_sync is not None else tdev.cuda.is_available()
    if cuda_sync:
        tdev.cuda.synchronize()
    return name
