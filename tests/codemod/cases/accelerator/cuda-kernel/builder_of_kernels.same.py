import os

from .builder import CUDAOpBuilder, installed_cuda_version


class RaggedUtilsBuilder(CUDAOpBuilder):
    def is_compatible(self, verbose=False):
        try:
            import torch
        except ImportError:
            return False

        okay = True
        if not os.environ.get("IGNORE_CUDA"):
            if not self.is_rocm_pytorch() and torch.cuda.is_available():
                major, _ = installed_cuda_version()
                built = int(torch.version.cuda.split(".")[0])
                if built < 11 or major < 11:
                    okay = False
        return super().is_compatible(verbose) and okay
