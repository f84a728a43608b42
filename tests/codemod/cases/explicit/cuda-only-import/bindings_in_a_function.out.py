import tdev
import torch

try:
    from cuda.bindings import runtime as cudart
except ImportError:
    cudart = None


def check(result):
    import cuda.bindings.driver as driver

    torch.cuda.synchronize()
    return result == driver.CUresult.CUDA_SUCCESS


def capture(stream):
    status, *_ = cudart.cudaStreamGetCaptureInfo(torch.cuda.current_stream().cuda_stream)
    torch.cuda.synchronize()
    return status


def free():
    tdev.cuda.empty_cache()
    return tdev.cuda.mem_get_info()
