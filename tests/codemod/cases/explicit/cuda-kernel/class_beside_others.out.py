import tdev
import torch


class XPU_Backend:
    @classmethod
    def is_available(cls):
        return torch.xpu.is_available()

    def synchronize(self):
        torch.xpu.synchronize()


class CUDA_Backend:
    @classmethod
    def is_available(cls):
        """Tell whether it is there."""
        return torch.cuda.is_available()

    def synchronize(self):
        torch.cuda.synchronize()

    def empty_cache(self):
        torch.cuda.empty_cache()


class CudaTimer:
    def stop(self):
        tdev.cuda.synchronize()
